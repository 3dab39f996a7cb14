import { Args, Flags } from '@oclif/core'
import { jsonLines, repeatable } from '../cli/arguments/list-flags.ts'
import { CliError, readNamed, UsageError } from '../cli/command/cli-error.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { textOrJson, writeOut } from '../cli/command/output.ts'
import { untilStopped } from '../cli/command/program.ts'
import { readStdinBytes } from '../cli/command/prompt.ts'
import { type Client, eachPage, type RawRequest, type RawResponse } from '../client/client.ts'
import { messagesOf } from '../client/stream-messages.ts'
import { groupBy } from '../core/group-by.ts'

const methods = ['GET', 'POST', 'PATCH', 'DELETE']

export default class Api extends ClientCommand {
  static override summary = 'Send a request to any API path, and print the response.'
  static override description =
    'Prints JSON with indentation, and files unchanged (redirect them with >). Prints an event stream until Ctrl-C. ' +
    'Exits with 1 for an error response. The server documents all paths at /docs.'
  static override examples = [
    '<%= config.bin %> api GET /v1/workspace',
    {
      description: 'Send fields as a JSON body',
      command: '<%= config.bin %> api POST /v1/projects -f name="Spring fair" -f color=green',
    },
    {
      description: 'Send the content of a file as the body',
      command: '<%= config.bin %> api POST /v1/passes -d @pass.json',
    },
    {
      description: 'Print every item of a list, one per line',
      command: '<%= config.bin %> api GET /v1/passes --paginate -f status=ISSUED',
    },
  ]
  static override args = {
    method: Args.string({
      description: 'HTTP method.',
      required: true,
      options: methods,
    }),
    path: Args.string({ description: 'Path of the API, such as /v1/projects.', required: true }),
  }
  static override flags = {
    data: Flags.string({ char: 'd', summary: 'Request body: text, @FILE, or - for stdin.', exclusive: ['field'] }),
    field: Flags.string({
      char: 'f',
      summary:
        'Query parameter (GET, DELETE), or field of the JSON body (other methods): name=text or name:=JSON. Repeatable.',
      ...repeatable,
      default: [],
    }),
    header: Flags.string({
      char: 'H',
      summary: 'Request header as "Name: value". Repeatable.',
      ...repeatable,
      default: [],
    }),
    include: Flags.boolean({
      char: 'i',
      summary: 'Print the status and the headers before the body.',
      exclusive: ['paginate'],
    }),
    paginate: Flags.boolean({ summary: 'Fetch all pages of a list, and print one item per line.' }),
  }

  async run() {
    const { args, flags } = await this.parse(Api)
    const data = flags.data === undefined ? undefined : await bodyOf(flags.data)
    const request = apiRequest(args.method, args.path, { data, field: flags.field, header: flags.header })
    const client = this.connect(flags)
    if (flags.paginate) return printPages(client, request)
    const stop = new AbortController()
    const answer = await client.request(request, { signal: stop.signal })
    if (answer.stream) return this.#follow(answer, flags.include, stop)
    const value = jsonOf(answer)
    if (this.jsonEnabled()) {
      if (value === undefined && answer.body.length > 0) throw new UsageError('The response is a file: omit --json')
      const { status, headers } = answer
      return flags.include ? { status, headers, body: value ?? null } : (value ?? null)
    }
    if (flags.include) await writeOut(headLines(answer))
    if (value !== undefined) await writeOut(`${JSON.stringify(value, undefined, 2)}\n`)
    else await writeFileOut(answer)
  }

  /**
   * Prints server-sent events until either side closes the stream. With `--json`, prints the data of each event on a
   * line.
   */
  async #follow({ stream, ...head }: RawResponse, include: boolean, stop: AbortController): Promise<void> {
    return untilStopped(async (stopped) => {
      stopped.addEventListener('abort', () => stop.abort())
      if (include && !this.jsonEnabled()) await writeOut(headLines(head))
      const pieces = this.jsonEnabled() ? dataLines(stream!) : stream!
      for await (const piece of pieces) if (!(await writeOut(piece))) return
    })
  }
}

async function* dataLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { data } of messagesOf(stream)) if (data !== '') yield `${data}\n`
}

async function bodyOf(data: string): Promise<Uint8Array> {
  if (data === '-') return readStdinBytes()
  return data.startsWith('@') ? readNamed(data.slice(1)) : Buffer.from(data)
}

/** Holds only one page in memory at a time. */
async function printPages(client: Client, request: RawRequest): Promise<void> {
  if (request.method !== 'GET') throw new UsageError('--paginate requires a GET of a list')
  const list = async ({ query: { cursor } }: { query: { cursor?: string } }) =>
    pageOf(await client.request(cursor === undefined ? request : atCursor(request, cursor)))
  for await (const { items } of eachPage(list, {})) if (!(await writeOut(jsonLines(items)))) return
}

async function writeFileOut({ body, headers }: RawResponse): Promise<void> {
  const type = String(headers['content-type'] ?? '')
  if (process.stdout.isTTY && body.length > 0 && !type.startsWith('text/')) {
    throw new UsageError(`The response is a file (${type}), which a terminal cannot show`, { hint: 'add > FILE.' })
  }
  await writeOut(body)
}

interface ApiFlags {
  data: Uint8Array | undefined
  field: string[]
  header: string[]
}

/**
 * Builds the request of `passes api`. Fields become the query of a GET or DELETE, and the JSON body of other requests.
 * @throws UsageError if the path could lead to another server, or if a field is invalid
 */
function apiRequest(method: string, path: string, { data, field, header }: ApiFlags): RawRequest {
  // Require a leading slash: otherwise, the text could extend the host name, and another server would get the token.
  if (!/^\/[^/\\\s]/.test(path)) {
    throw new UsageError(`${path} is not a path of the API`, { hint: 'begin with a slash, as in /v1/projects.' })
  }
  const fields = field.map(splitNamed)
  const hasQuery = method === 'GET' || method === 'DELETE'
  if (hasQuery && data) throw new UsageError(`A ${method} has no body: give parameters with -f name=value`)
  const body = data ?? (hasQuery || fields.length === 0 ? undefined : jsonBody(fields))
  return {
    method,
    path: hasQuery
      ? withParameters(
          path,
          fields.map(([name, value]) => [name, textOrJson(value)]),
        )
      : path,
    headers: {
      ...(body && { 'content-type': 'application/json' }),
      ...Object.fromEntries(header.map(splitHeader)),
    },
    ...(body && { body }),
  }
}

function atCursor(request: RawRequest, cursor: string): RawRequest {
  const url = new URL(request.path, 'http://server')
  url.searchParams.set('cursor', cursor)
  return { ...request, path: url.pathname + url.search }
}

/** @throws CliError if the response is not a page of a list */
function pageOf(answer: RawResponse): { items: unknown[]; nextCursor: string | null } {
  const page = jsonOf(answer) as { items?: unknown; nextCursor?: unknown } | null | undefined
  if (!Array.isArray(page?.items) || (page.nextCursor !== null && typeof page.nextCursor !== 'string')) {
    throw new CliError('The response is not a page of a list', { hint: 'leave out --paginate.' })
  }
  return { items: page.items, nextCursor: page.nextCursor }
}

/** Returns the parsed body of a JSON response, or `undefined` for any other type. */
function jsonOf({ headers, body }: RawResponse): unknown {
  if (!/^application\/(?:[\w.-]+\+)?json\b/.test(String(headers['content-type'] ?? ''))) return undefined
  return JSON.parse(Buffer.from(body).toString())
}

function headLines({ status, headers }: RawResponse): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${[value].flat().join(', ')}`)
  return [`HTTP ${status}`, ...lines, '', ''].join('\n')
}

function withParameters(path: string, parameters: [string, string][]): string {
  const url = new URL(path, 'http://server')
  for (const [name, value] of parameters) url.searchParams.append(name, value)
  return url.pathname + url.search
}

/** The values of a repeated name become an array. */
function jsonBody(fields: [string, unknown][]): Uint8Array {
  const entries = [...groupBy(fields, ([name]) => name)].map(([name, given]) => {
    const values = given.map(([, value]) => value)
    return [name, values.length > 1 ? values : values[0]]
  })
  return Buffer.from(JSON.stringify(Object.fromEntries(entries)))
}

/**
 * Parses a field: `name=text`, or `name:=value` if the value is JSON.
 * @throws UsageError
 */
function splitNamed(text: string): [name: string, value: unknown] {
  const [, name, sign, value] = /^([^=:]+)(:?=)(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new UsageError(`-f ${text} must be name=value, or name:=JSON`)
  if (sign === '=') return [name, value]
  try {
    return [name, JSON.parse(value)]
  } catch {
    throw new UsageError(`-f ${text}: the text after := is not JSON`, { hint: `for text: -f ${name}=${value}` })
  }
}

/** @throws UsageError */
function splitHeader(text: string): [name: string, value: string] {
  const colon = text.indexOf(':')
  const name = text.slice(0, Math.max(0, colon))
  if (!/^[\w-]+$/.test(name)) throw new UsageError(`-H "${text}" must be "Name: value"`)
  return [name.toLowerCase(), text.slice(colon + 1).trim()]
}
