/** Placeholders are {{name}}: a variable of the version, or a system variable. No logic, no loops. */

const PLACEHOLDER = /\{\{\s*([A-Za-z][A-Za-z0-9_.]{0,127})\s*\}\}/g
const LONE_PLACEHOLDER = /^\{\{\s*([A-Za-z][A-Za-z0-9_.]{0,127})\s*\}\}$/

/** System variables: facts of the pass and what it belongs to, under names that no template variable can have. */
export const systemVariables = [
  'pass.id',
  'pass.externalPassId',
  'pass.label',
  'pass.scanCode',
  'pass.expiresAt',
  'template.name',
  'project.name',
] as const

/** A variable that every definition may name without declaring it. */
export type SystemVariable = (typeof systemVariables)[number]

/** What a scope holds under this name is read off the pass in place of what its template says; no template can name it. */
export const SCAN_PAYLOAD = 'pass.scanPayload'

/** No two passes have the same. */
export const placeholdersOfOnePass: ReadonlySet<string> = new Set(['pass.id', 'pass.externalPassId', 'pass.scanCode'])

/** Values by placeholder name; a name without a value renders as nothing. */
export type Scope = ReadonlyMap<string, string>

/**
 * The text with every placeholder replaced, in one pass: braces inside a value stay as they are. Comes out well-formed,
 * since no wallet takes half a surrogate pair.
 */
export function fill(template: string, scope: Scope): string {
  const filled = template.includes('{{')
    ? template.replace(PLACEHOLDER, (_, name: string) => scope.get(name) ?? '')
    : template
  return filled.toWellFormed()
}

/** Every string inside a JSON value filled; keys stay as they are. */
export function fillDeep<T>(value: T, scope: Scope): T {
  if (typeof value === 'string') return fill(value, scope) as T
  if (Array.isArray(value)) return value.map((item) => fillDeep(item, scope)) as T
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fillDeep(item, scope)])) as T
  }
  return value
}

/** The name when the whole text is a single placeholder, else undefined. */
export function lonePlaceholder(text: string): string | undefined {
  return LONE_PLACEHOLDER.exec(text)?.[1]
}

/** The names of the placeholders of a text, in their order, each as often as it stands there. */
export function placeholdersIn(text: string): string[] {
  return [...text.matchAll(PLACEHOLDER)].map((match) => match[1]!)
}

/** The names of its placeholders in order, and the texts before, between and after them: always one more. */
export function splitPlaceholders(text: string): { names: string[]; literals: string[] } {
  // Split by a pattern with a group, every other part is what the group holds.
  const parts = text.split(PLACEHOLDER)
  return {
    names: parts.filter((_, index) => index % 2 === 1),
    literals: parts.filter((_, index) => index % 2 === 0),
  }
}

/** The text without its placeholders. */
export function literalPart(text: string): string {
  return text.replaceAll(PLACEHOLDER, '')
}

/** Each placeholder anywhere inside a JSON value, with the path of the string that holds it. */
export function* placeholdersDeep(value: unknown): Generator<{ name: string; path: (string | number)[] }> {
  for (const { text, path } of stringsDeep(value)) for (const name of placeholdersIn(text)) yield { name, path }
}

/** Each string anywhere inside a JSON value, with its path. */
export function* stringsDeep(
  value: unknown,
  path: (string | number)[] = [],
): Generator<{ text: string; path: (string | number)[] }> {
  if (typeof value === 'string') yield { text: value, path }
  else if (value !== null && typeof value === 'object') {
    const entries = Array.isArray(value) ? value.map((item, index) => [index, item] as const) : Object.entries(value)
    for (const [key, item] of entries) yield* stringsDeep(item, [...path, key])
  }
}
