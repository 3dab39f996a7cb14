/** A placeholder is {{name}}: the name of a template variable or system variable. Templates have no logic or loops. */

const PLACEHOLDER = /\{\{\s*([A-Za-z][A-Za-z0-9_.]{0,127})\s*\}\}/g
const LONE_PLACEHOLDER = /^\{\{\s*([A-Za-z][A-Za-z0-9_.]{0,127})\s*\}\}$/

/** Facts of the pass, its template, and its project, under names that no template variable can have. */
export const systemVariables = [
  'pass.id',
  'pass.externalPassId',
  'pass.label',
  'pass.scanCode',
  'pass.expiresAt',
  'template.name',
  'project.name',
] as const

export type SystemVariable = (typeof systemVariables)[number]

/** A scope value under this name replaces the barcode message of the template. Templates cannot use the name. */
export const SCAN_PAYLOAD = 'pass.scanPayload'

/** The system variables whose values are unique for each pass. */
export const placeholdersOfOnePass: ReadonlySet<string> = new Set(['pass.id', 'pass.externalPassId', 'pass.scanCode'])

/**
 * The values of placeholders, by name. A placeholder without a value renders as an empty text. Filled texts are cached
 * by scope. Therefore, create one scope for each pass, and do not change a scope after its first use.
 */
export type Scope = ReadonlyMap<string, string>

/**
 * Replaces every placeholder once, so that placeholders inside a value stay text. The result is well-formed, because
 * wallets reject half a surrogate pair.
 */
export function fill(template: string, scope: Scope): string {
  return template.includes('{{') ? oncePerScope(template, scope, fillText) : template.toWellFormed()
}

function fillText(template: string, scope: Scope): string {
  const { names, literals } = compileText(template)
  let filled = literals[0]!
  for (const [index, name] of names.entries()) filled += (scope.get(name) ?? '') + literals[index + 1]!
  return filled.toWellFormed()
}

/** Fills every string in a JSON value. Reuses parts without a placeholder instead of copying them. */
export function fillDeep<T>(value: T, scope: Scope): T {
  const isTree = value !== null && typeof value === 'object'
  return isTree ? oncePerScope(value, scope, fillWithin) : fillWithin(value, scope)
}

function fillWithin<T>(value: T, scope: Scope): T {
  if (typeof value === 'string') return fill(value, scope) as T
  if (Array.isArray(value)) {
    const filled = value.map((item) => fillWithin(item, scope))
    return (filled.every((item, index) => item === value[index]) ? value : filled) as T
  }
  if (value === null || typeof value !== 'object') return value
  let isChanged = false
  const filled = Object.entries(value).map(([key, item]) => {
    const inner = fillWithin(item, scope)
    isChanged ||= inner !== item
    return [key, inner] as const
  })
  return isChanged ? (Object.fromEntries(filled) as T) : value
}

/**
 * The filled texts of each scope, by template. They are cached, because all languages of a pass share a scope and most
 * texts.
 */
const filledByScope = new WeakMap<Scope, Map<unknown, unknown>>()

function oncePerScope<T>(template: T, scope: Scope, make: (template: T, scope: Scope) => T): T {
  const filled = filledByScope.get(scope) ?? new Map<unknown, unknown>()
  filledByScope.set(scope, filled)
  const known = filled.get(template) as T | undefined
  if (known !== undefined) return known
  const made = make(template, scope)
  filled.set(template, made)
  return made
}

/** Returns the name if the whole text is a single placeholder, else `undefined`. */
export function lonePlaceholder(text: string): string | undefined {
  return LONE_PLACEHOLDER.exec(text)?.[1]
}

/** Returns the placeholder names of a text in order, with repetitions. */
export function placeholdersIn(text: string): readonly string[] {
  return text.includes('{{') ? compileText(text).names : []
}

/** A parsed text: the names of its placeholders, and the literals around them. There is one more literal than names. */
export interface CompiledText {
  names: readonly string[]
  literals: readonly string[]
}

/** The maximum length of all cached texts, in characters. */
const MAX_COMPILED = 2 * 1024 * 1024

const compiledTexts = new Map<string, CompiledText>()
let compiledLength = 0

/** Caches the results, so that the texts of a version are parsed once for all of its passes. */
export function compileText(text: string): CompiledText {
  const known = compiledTexts.get(text)
  if (known) return known
  // The pattern has a group, so the result of `split` alternates between literals and names.
  const parts = text.split(PLACEHOLDER)
  const compiled = {
    names: parts.filter((_, index) => index % 2 === 1),
    literals: parts.filter((_, index) => index % 2 === 0),
  }
  if (compiledLength + text.length > MAX_COMPILED) {
    compiledTexts.clear()
    compiledLength = 0
  }
  compiledTexts.set(text, compiled)
  compiledLength += text.length
  return compiled
}

export function literalPart(text: string): string {
  return text.includes('{{') ? compileText(text).literals.join('') : text
}

export function* placeholdersDeep(value: unknown): Generator<{ name: string; path: (string | number)[] }> {
  for (const { text, path } of stringsDeep(value)) for (const name of placeholdersIn(text)) yield { name, path }
}

export function stringsDeep(value: unknown): StringInValue[] {
  const found: StringInValue[] = []
  collectStrings(value, [], found)
  return found
}

interface StringInValue {
  text: string
  path: (string | number)[]
}

/**
 * Collects the strings in a value. Updates one path in place and copies it only for strings, because drafts hold
 * thousands of other values.
 */
function collectStrings(value: unknown, path: (string | number)[], found: StringInValue[]): void {
  if (typeof value === 'string') found.push({ text: value, path: [...path] })
  else if (value !== null && typeof value === 'object') {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(value)
    for (const [key, item] of entries) {
      path.push(key)
      collectStrings(item, path, found)
      path.pop()
    }
  }
}
