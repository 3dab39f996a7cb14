import { type Definition, fieldGroups } from '../contract/definition.ts'
import type { Issue } from '../errors.ts'
import { placeholdersDeep, type SystemVariable, systemVariables } from './placeholder.ts'
import { buildScope, resolveExpiry, resolvePolicies } from './resolve.ts'
import { checkDeclarations, type Variables } from './variables.ts'

/** Everything that keeps a definition from being published, each with its path (paths start below `definition`). */
export function checkDefinition(definition: Definition): Issue[] {
  return [
    ...checkDeclarations(definition.variables),
    ...checkFieldKeys(definition),
    ...checkPlaceholders(definition),
    ...checkPolicies(definition),
  ]
}

/** Values that a definition can be tried with: its examples, else its defaults, else text that fits the format. */
export function sampleVariables(definition: Definition): Variables {
  const samples = {
    text: 'Text',
    date: '2030-01-31',
    'date-time': '2030-01-31T18:00:00Z',
    number: '1',
    url: 'https://example.com/',
    email: 'ada@example.com',
  }
  return Object.fromEntries(
    definition.variables.map((variable) => [
      variable.name,
      variable.example ?? variable.default ?? samples[variable.format ?? 'text'].slice(0, variable.maxLength),
    ]),
  )
}

function checkFieldKeys({ design }: Definition): Issue[] {
  const issues: Issue[] = []
  const seen = new Set<string>()
  for (const group of fieldGroups) {
    design.fields[group].forEach((field, index) => {
      if (seen.has(field.key)) {
        issues.push({
          path: ['design', 'fields', group, index, 'key'],
          message: `The key ${field.key} stands twice; a key is unique in the whole pass`,
        })
      }
      seen.add(field.key)
    })
  }
  return issues
}

function checkPlaceholders(definition: Definition): Issue[] {
  const known = new Set<string>([...systemVariables, ...definition.variables.map((variable) => variable.name)])
  const { variables: _, ...rendered } = definition
  const issues: Issue[] = []
  for (const { name, path } of placeholdersDeep(rendered)) {
    if (!known.has(name)) {
      issues.push({
        path,
        message: `Unknown placeholder {{${name}}}: declare the variable, or use one of ${systemVariables.join(', ')}`,
      })
    }
    const circular: SystemVariable = 'pass.expiresAt'
    if (name === circular && path[0] === 'expiresAt') {
      issues.push({ path, message: `{{${circular}}} cannot stand in the expiry itself` })
    }
  }
  return [...issues, ...malformedPlaceholders(rendered, [])]
}

/** Double braces that are no placeholder: most likely a typing error, which would show on the pass. */
function malformedPlaceholders(value: unknown, path: (string | number)[]): Issue[] {
  if (typeof value === 'string') {
    const rest = value.replaceAll(/\{\{\s*[A-Za-z][A-Za-z0-9_.]{0,127}\s*\}\}/g, '')
    return /\{\{|\}\}/.test(rest) ? [{ path, message: 'Holds {{ or }} that are no placeholder; write {{name}}' }] : []
  }
  if (value === null || typeof value !== 'object') return []
  const entries = Array.isArray(value) ? value.map((item, index) => [index, item] as const) : Object.entries(value)
  return entries.flatMap(([key, item]) => malformedPlaceholders(item, [...path, key]))
}

/** Expiry and policy are tried with sample values; what depends on no placeholder must come out right. */
function checkPolicies(definition: Definition): Issue[] {
  const names = new Set([...placeholdersDeep([definition.expiresAt, definition.redemption])].map(({ name }) => name))
  if (names.size === 0) {
    const resolved = resolvePolicies(definition, new Map())
    return 'issues' in resolved ? resolved.issues : []
  }
  if (![...placeholdersDeep(definition.expiresAt)].length) {
    const expiry = resolveExpiry(definition.expiresAt, new Map())
    if ('issues' in expiry) return expiry.issues
  }
  const literal = withoutPlaceholders(definition.redemption)
  const resolved = resolvePolicies({ ...definition, expiresAt: null, redemption: literal }, buildScope([], {}, {}))
  return 'issues' in resolved ? resolved.issues : []
}

/** The policy with each leaf that holds a placeholder replaced by a value that any bound accepts. */
function withoutPlaceholders<T>(value: T, key = ''): T {
  if (typeof value === 'string') {
    if (!value.includes('{{')) return value
    if (key === 'timezone') return 'UTC' as T
    return (key === 'start' || key === 'end' ? '2030-01-01T00:00:00Z' : 1) as T
  }
  if (Array.isArray(value)) return value.map((item) => withoutPlaceholders(item)) as T
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutPlaceholders(item, name)])) as T
  }
  return value
}
