import type { Route } from './route.ts'

/** A request of an endpoint, as it was recorded: what its samples send. */
export interface SampleRequest {
  params?: Record<string, string>
  query?: Record<string, unknown>
  body?: unknown
}

interface CodeSample {
  lang: string
  label: string
  source: string
}

const SAMPLE_ID = '01985f0c-7a10-7000-8000-000000000001'

/** How an endpoint is called from a shell, from the command line of this program and with its client. */
export function codeSamples(operationId: string, route: Route, request: SampleRequest, command: string): CodeSample[] {
  return [
    { lang: 'Shell', label: 'curl', source: curl(route, request) },
    { lang: 'Shell', label: 'passes', source: `passes ${command}` },
    { lang: 'JavaScript', label: 'client', source: client(operationId, route, request) },
  ]
}

function curl(route: Route, request: SampleRequest): string {
  const { method, rawBody, eventStream } = route
  const address = `"$PASSES_URL${path(route, request)}"`
  const lines = [
    `curl ${eventStream ? '--no-buffer ' : ''}${method === 'GET' ? '' : `--request ${method} `}${address}`,
    `--header "Authorization: Bearer $PASSES_TOKEN"`,
  ]
  if (rawBody) lines.push(`--header "Content-Type: ${rawBody.contentTypes[0]}"`, '--data-binary @logo.png')
  else if (request.body !== undefined) {
    lines.push('--header "Content-Type: application/json"', `--data '${quoted(JSON.stringify(request.body, null, 2))}'`)
  }
  return lines.join(' \\\n  ')
}

/** Within single quotes of a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", `'\\''`)
}

function path(route: Route, { params = {}, query = {} }: SampleRequest): string {
  const filled = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? SAMPLE_ID)
  const search = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((one): [string, string] => [name, String(one)]),
    ),
  )
  return search.size > 0 ? `${filled}?${search}` : filled
}

function client(operationId: string, route: Route, { params, query, body }: SampleRequest): string {
  const ids = route.params && { params: params ?? { id: SAMPLE_ID } }
  const call = { ...ids, ...(query && { query }), ...(body !== undefined && { body }) }
  const given = Object.keys(call).length > 0 ? asCode(call) : ''
  if (route.rawBody) {
    const contentType = route.rawBody.contentTypes[0]!
    return `await client.${operationId}({ body: await readFile('logo.png'), contentType: '${contentType}' })`
  }
  if (!route.eventStream) return `await client.${operationId}(${given})`
  return `for await (const event of client.${operationId}(${given})) console.log(event)`
}

/** JSON as a person writes it in JavaScript. */
function asCode(value: object): string {
  return JSON.stringify(value, null, 2).replaceAll(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
}
