import { openApiDocument } from '../core/openapi/document.ts'
import { UsageError } from './command/cli-error.ts'
import { editDistance } from './command/failure.ts'

interface Described {
  operationId: string
  summary: string
  description: string
  parameters: { name: string; in: string; required: boolean; description?: string }[]
  requestBody?: { content: Record<string, { example?: unknown }> }
  responses: Record<string, { description: string; content?: Record<string, { example?: unknown }> }>
  'x-codeSamples': { label: string; source: string }[]
}

/**
 * Returns the reference of an endpoint (`scans.create`) or of a resource (`scans`).
 * @throws UsageError that suggests a similar name
 */
export function operationHelp(name: string): string {
  const all = readOperations()
  const one = all.find(({ operationId }) => operationId === name)
  if (one) return describe(one)
  const resource = all.filter(({ operationId }) => operationId.startsWith(`${name}.`))
  if (resource.length > 0) return resource.map((operation) => line(operation)).join('\n')
  const [meant] = all
    .map(({ operationId }) => ({ operationId, distance: editDistance(name.toLowerCase(), operationId.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  throw new UsageError(`The API has no operation ${name}`, {
    hint:
      meant!.distance <= Math.max(2, name.length / 3)
        ? `did you mean ${meant!.operationId}?`
        : `the resources are ${[...new Set(all.map(({ operationId }) => operationId.split('.')[0]))].join(', ')}, each with its operations.`,
  })
}

let operations: (Described & { route: string })[] | undefined

/** Returns all operations. Caches them, because reading the large OpenAPI document is slow. */
function readOperations() {
  operations ??= Object.entries(openApiDocument().paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      route: `${method.toUpperCase()} ${path}`,
      ...(operation as Described),
    })),
  )
  return operations
}

function line({ operationId, route, summary }: { operationId: string; route: string; summary: string }): string {
  return `${operationId.padEnd(28)}${route.padEnd(56)}${summary}`
}

function describe({
  route,
  summary,
  description,
  parameters,
  requestBody,
  responses,
  ...rest
}: Described & { route: string }): string {
  const statuses = Object.entries(responses)
  const parts = [
    `${summary}\n\n  ${route}\n\n${description}`,
    section(
      'PARAMETERS',
      parameters.map(
        ({ name, in: place, required, description: said = '' }) =>
          `${name.padEnd(22)}${place}${required ? ', required' : ''}${said ? `  ${said}` : ''}`,
      ),
    ),
    example('BODY', Object.values(requestBody?.content ?? {})[0]?.example),
    ...rest['x-codeSamples'].map(({ label, source }) => section(label.toUpperCase(), source.split('\n'))),
    ...statuses
      .filter(([status]) => Number(status) < 400)
      .map(([status, { content }]) => example(`RESPONSE ${status}`, Object.values(content ?? {})[0]?.example)),
    section(
      'ERRORS',
      statuses
        .filter(([status]) => Number(status) >= 400)
        .map(([status, { description: codes }]) => `${status}  ${codes}`),
    ),
  ]
  return parts.filter(Boolean).join('\n\n')
}

function section(title: string, lines: string[]): string {
  return lines.length === 0 ? '' : [title, ...lines.map((text) => `  ${text}`)].join('\n')
}

function example(title: string, value: unknown): string {
  return value === undefined ? '' : section(title, JSON.stringify(value, null, 2).split('\n'))
}
