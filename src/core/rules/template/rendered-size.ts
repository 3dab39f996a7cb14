import type { Definition, VariableDefinition, WrittenDefinition } from '../../contract/schemas/definition.ts'
import { ApiError, type Issue, issueDetails, MAX_ISSUES } from '../../errors.ts'
import { balancePlaceholder, LONGEST_BALANCE } from '../balances/balances.ts'
import { writtenOf } from './definition-languages.ts'
import { literalPart, placeholdersIn, type Scope, type SystemVariable, stringsDeep } from './placeholder.ts'

/** The maximum size of a filled text, in bytes of UTF-8. The contract limits texts without placeholders. */
export const MAX_TEXT_BYTES = 8 * 1024
/** The maximum size of everything that a definition renders, in bytes: the card, overrides, expiry, and policy. */
export const MAX_CARD_BYTES = 256 * 1024

/** The size, in bytes, that the check at publish assumes for a variable without `maxLength`. */
const ASSUMED_BYTES = 1024

/** The maximum sizes of the system variables, in bytes. The contract limits names and labels. */
const SYSTEM_BYTES: Record<SystemVariable, number> = {
  'pass.id': 36,
  'pass.externalPassId': 255,
  'pass.label': 255,
  'pass.scanCode': 26,
  'pass.expiresAt': 24,
  'template.name': 255,
  'project.name': 255,
}

export interface Oversize {
  /** The path of the text, below the definition; empty for the whole card. */
  path: (string | number)[]
  bytes: number
  max: number
  /** The placeholder that adds the most bytes, and its number of occurrences; `undefined` if there is none. */
  cause: { name: string; count: number } | undefined
}

export type FindOversizes = (bytesOf: (name: string) => number) => Oversize[]

interface Size {
  path: Oversize['path']
  max: number
  fixedBytes: number
  counts: Map<string, number>
}

/** Measures a definition once. The returned check of a pass takes one addition per placeholder and fills no text. */
export function compileSizes(rendered: Partial<Definition>): FindOversizes {
  // Measure all languages together, because one package contains all of them.
  const written = writtenOf(rendered as Definition)
  const find = compiled.get(written) ?? compile(written)
  compiled.set(written, find)
  return find
}

/** The size checks by definition, cached because all passes of a version and all their languages share a check. */
const compiled = new WeakMap<object, FindOversizes>()

function compile({ variables: _, ...content }: Partial<WrittenDefinition>): FindOversizes {
  const card: Size = {
    path: [],
    max: MAX_CARD_BYTES,
    fixedBytes: bytesOfText(JSON.stringify(content)),
    counts: new Map(),
  }
  const sizes = [card]
  for (const { text, path } of stringsDeep(content)) {
    if (!text.includes('{{')) continue
    const size: Size = { path, max: MAX_TEXT_BYTES, fixedBytes: bytesOfText(literalPart(text)), counts: new Map() }
    card.fixedBytes -= bytesOfText(text) - size.fixedBytes
    for (const name of placeholdersIn(text)) {
      for (const { counts } of [card, size]) counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    if (size.counts.size > 0) sizes.push(size)
  }
  return (bytesOf) => {
    const known = new Map([...card.counts.keys()].map((name) => [name, bytesOf(name)]))
    const found: Oversize[] = []
    for (const size of sizes) {
      const oversize = measure(size, known)
      if (oversize) found.push(oversize)
      if (found.length === MAX_ISSUES) break
    }
    return found
  }
}

function measure({ path, max, fixedBytes, counts }: Size, known: Map<string, number>): Oversize | undefined {
  let bytes = fixedBytes
  for (const [name, count] of counts) bytes += count * known.get(name)!
  if (bytes <= max) return undefined
  const [cause] = [...counts].toSorted(([a, m], [b, n]) => n * known.get(b)! - m * known.get(a)!)
  return { path, bytes, max, cause: cause && { name: cause[0], count: cause[1] } }
}

export function bytesIn(scope: Scope): (name: string) => number {
  // Before the expiry is resolved, assume its maximum length.
  return (name) => bytesOfText(scope.get(name) ?? '') || (name === 'pass.expiresAt' ? SYSTEM_BYTES[name] : 0)
}

/** Checks the sizes of a definition if all variables have the longest values that they allow. */
export function checkSizes(definition: Definition): Issue[] {
  const declared = new Map(definition.variables.map((variable) => [variable.name, variable]))
  const longest = new Map<string, number>([
    ...Object.entries(SYSTEM_BYTES),
    ...definition.variables.map((variable) => [variable.name, longestBytes(variable)] as const),
    ...Object.keys(definition.balances ?? {}).map((name) => [balancePlaceholder(name), LONGEST_BALANCE] as const),
  ])
  return compileSizes(definition)((name) => longest.get(name) ?? 0).map(({ path, bytes, max, cause }) => {
    const what = path.length > 0 ? 'Can be' : 'The whole card can be'
    return { path, message: `${what} up to ${bytes} bytes, and at most ${max} are allowed: ${advice(declared, cause)}` }
  })
}

function longestBytes({ maxLength = ASSUMED_BYTES, default: fallback = '', example = '' }: VariableDefinition): number {
  return Math.max(maxLength, bytesOfText(fallback), bytesOfText(example))
}

function advice(declared: Map<string, VariableDefinition>, cause: Oversize['cause']): string {
  if (!cause) return 'shorten the text'
  const { name, count } = cause
  const times = count > 1 ? ` (it appears ${count} times)` : ''
  const variable = declared.get(name)
  if (!variable) return `use {{${name}}} less often${times}`
  return variable.maxLength === undefined
    ? `set maxLength of the variable ${name}${times}. Without maxLength, each use counts as ${longestBytes(variable)} bytes`
    : `set a maxLength below ${variable.maxLength} for the variable ${name}${times}`
}

/** Converts oversizes to issues of a request. The path of each issue names the value that adds the most bytes. */
export function toValueIssues(oversizes: Oversize[]): Issue[] {
  return oversizes.map(({ path, bytes, max, cause }) => ({
    path: cause ? pathOfValue(cause.name) : [],
    message: `With this value, ${placeOf(path)} has ${bytes} bytes, and at most ${max} are allowed: shorten it`,
  }))
}

/** Returns the path of a placeholder's value in a request, or an empty path if requests cannot set the value. */
export function pathOfValue(name: string): string[] {
  if (name === 'pass.label') return ['label']
  if (name === 'pass.externalPassId') return ['externalPassId']
  return name.includes('.') ? [] : ['variables', name]
}

function placeOf(path: Oversize['path']): string {
  return path.length > 0 ? path.join('.') : 'the whole card'
}

/**
 * Rejects a pass that is too large, for example because it was created before the limits existed.
 * @throws ApiError PASS_ISSUING_FAILED
 */
export function requireFits(rendered: Partial<Definition>, scope: Scope): void {
  const findOversizes = compileSizes(rendered)
  // Skip a scope that has passed this check: the sizes include all languages, and all languages of a pass share the
  // scope.
  if (fitting.get(scope) === findOversizes) return
  const oversizes = findOversizes(bytesIn(scope))
  const [first] = oversizes
  if (!first) {
    fitting.set(scope, findOversizes)
    return
  }
  const made = first.cause ? ` (${first.cause.name} adds the most)` : ''
  throw new ApiError('PASS_ISSUING_FAILED', {
    message:
      `The pass is too large: ${placeOf(first.path)} has ${first.bytes} bytes, and at most ${first.max} are ` +
      `allowed${made}. Shorten the values, or publish a version that shows less of them.`,
    details: issueDetails(toValueIssues(oversizes)),
  })
}

/** The last size check that each scope passed, so that the check does not run for each language of a pass. */
const fitting = new WeakMap<Scope, FindOversizes>()

function bytesOfText(text: string): number {
  return Buffer.byteLength(text)
}
