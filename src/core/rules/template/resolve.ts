import { DateTime } from 'luxon'
import { z } from 'zod'
import { Timestamp } from '../../contract/common.ts'
import type { Definition, VariableDefinition } from '../../contract/definition.ts'
import { RedemptionPolicy } from '../../contract/redemption.ts'
import { type Issue, type Parsed, parseAs } from '../../errors.ts'
import { oneSpelling } from '../redemption/time-zones.ts'
import { fill, lonePlaceholder, placeholdersIn, SCAN_PAYLOAD, type Scope, type SystemVariable } from './placeholder.ts'
import type { Variables } from './variables.ts'

/** What a pass enforces, once the placeholders of its version are filled. */
export interface Resolved {
  expiresAt: Date | null
  redemption: RedemptionPolicy | null
}

/** What placeholders of a pass stand for, beside its variables. */
export interface PassFacts {
  id: string
  externalPassId: string
  label: string
  scanCode: string
  /** What another provider printed in place of both the code and the barcode's message. */
  scanPayload?: string | null
  variables: Variables
  templateName: string
  projectName: string | null
}

/**
 * The values that placeholders stand for: stored variables, defaults where none is stored, and the system's own.
 * @param expiresAt undefined while it is still to be resolved
 */
export function buildScope(
  declared: readonly VariableDefinition[],
  facts: PassFacts,
  expiresAt?: Date | null,
): Map<string, string> {
  const system: Record<SystemVariable, string | undefined> = {
    'pass.id': facts.id,
    'pass.externalPassId': facts.externalPassId,
    'pass.label': facts.label,
    'pass.scanCode': facts.scanPayload ?? facts.scanCode,
    'pass.expiresAt': expiresAt?.toISOString(),
    'template.name': facts.templateName,
    'project.name': facts.projectName ?? undefined,
  }
  const scope = new Map<string, string>()
  for (const [name, value] of Object.entries(system)) if (value !== undefined) scope.set(name, value)
  if (facts.scanPayload != null) scope.set(SCAN_PAYLOAD, facts.scanPayload)
  for (const { name, default: fallback } of declared) {
    const stored = Object.hasOwn(facts.variables, name) ? facts.variables[name] : undefined
    const value = typeof stored === 'string' ? stored : fallback
    if (value !== undefined) scope.set(name, value)
  }
  return scope
}

/** Expiry and policy of one pass, or everything that keeps the values from making sense. */
export function resolvePolicies(definition: Definition, facts: PassFacts): Resolved | { issues: Issue[] } {
  const expiresAt = resolveExpiry(definition, buildScope(definition.variables, facts))
  if ('issues' in expiresAt) return { issues: expiresAt.issues.map((issue) => atVariable(issue, definition)) }
  const redemption = resolveRedemption(definition, buildScope(definition.variables, facts, expiresAt.value))
  if ('issues' in redemption) return { issues: redemption.issues.map((issue) => atVariable(issue, definition)) }
  return { expiresAt: expiresAt.value, redemption: redemption.value }
}

/** Names the variable that alone brought the issue about: the request has no field that is called as the definition's. */
function atVariable(issue: Issue, definition: Definition): Issue {
  const text = issue.path.reduce<unknown>(
    (part, key) => (part as Record<string, unknown> | undefined)?.[key],
    definition,
  )
  const [name, ...others] = typeof text === 'string' ? new Set(placeholdersIn(text)) : []
  const isOne = others.length === 0 && definition.variables.some((variable) => variable.name === name)
  return isOne ? { ...issue, path: ['variables', name!] } : issue
}

/** The expiry of a pass. An empty text means none; a date without a time ends with that day in the definition's time zone. */
export function resolveExpiry(
  { expiresAt, timeZone = 'UTC' }: Pick<Definition, 'expiresAt' | 'timeZone'>,
  scope: Scope,
): Parsed<Date | null> {
  const text = expiresAt === null ? '' : fill(expiresAt, scope).trim()
  if (text === '') return { value: null }
  if (DateOnly.safeParse(text).success) return { value: endOfDay(text, timeZone) }
  if (Timestamp.safeParse(text).success) return { value: new Date(text) }
  return {
    issues: [{ path: ['expiresAt'], message: `Must be a date-time or a date, and came out as "${excerpt(text)}"` }],
  }
}

const DateOnly = z.iso.date()

function endOfDay(date: string, timeZone: string): Date {
  const end = DateTime.fromISO(date, { zone: oneSpelling(timeZone) }).endOf('day')
  // West of UTC the last day of all ends in a year that ISO 8601 writes otherwise.
  return new Date(Math.min(end.toMillis(), LAST_MOMENT))
}

const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z')

/** The policy of a pass, its placeholders filled in. */
export function resolveRedemption(
  { redemption }: Pick<Definition, 'redemption'>,
  scope: Scope,
): Parsed<RedemptionPolicy | null> {
  if (!redemption) return { value: null }
  const issues: Issue[] = []
  const filled = fillLeaves(redemption, ['redemption'], scope, issues)
  if (issues.length > 0) return { issues }
  const parsed = parseAs(RedemptionPolicy, filled)
  const found = 'issues' in parsed ? parsed.issues : checkWindows(parsed.value)
  return found.length > 0
    ? { issues: found.map(({ path, message }) => ({ path: ['redemption', ...path], message })) }
    : parsed
}

/** A window that is over before it begins would let nobody in, ever. */
function checkWindows({ windows = [] }: RedemptionPolicy): Issue[] {
  return windows.flatMap(({ start, end }, index) =>
    start !== undefined && end !== undefined && Date.parse(end) <= Date.parse(start)
      ? [{ path: ['windows', index, 'end'], message: 'Must be after the start of the window' }]
      : [],
  )
}

const TEXT_LEAVES = new Set(['start', 'end', 'timezone'])

/**
 * Every leaf filled; a lone placeholder where a number belongs becomes that number. A placeholder without a value is
 * refused: leaving a limit out silently would let everyone in.
 */
function fillLeaves(value: unknown, path: (string | number)[], scope: Scope, issues: Issue[]): unknown {
  if (typeof value === 'string') {
    const text = fill(value, scope)
    const name = lonePlaceholder(value)
    if (name !== undefined && text === '') issues.push({ path, message: `The placeholder {{${name}}} has no value` })
    const isNumber = name !== undefined && !TEXT_LEAVES.has(String(path.at(-1)))
    return isNumber && /^\d{1,15}$/.test(text) ? Number(text) : text
  }
  if (Array.isArray(value)) return value.map((item, index) => fillLeaves(item, [...path, index], scope, issues))
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, fillLeaves(item, [...path, key], scope, issues)]),
    )
  }
  return value
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
