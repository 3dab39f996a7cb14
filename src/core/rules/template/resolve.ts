import { DateTime } from 'luxon'
import { z } from 'zod'
import { Timestamp } from '../../contract/schemas/common.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import { RedemptionPolicy } from '../../contract/schemas/redemption.ts'
import { type Issue, type Parsed, parseAs } from '../../errors.ts'
import { mapStrings, valueAt } from '../../json.ts'
import { type BalanceSums, balanceTexts } from '../balances/balances.ts'
import { oneSpelling } from '../redemption/time-zones.ts'
import { fill, lonePlaceholder, placeholdersIn, SCAN_PAYLOAD, type Scope, type SystemVariable } from './placeholder.ts'
import type { Variables } from './variables.ts'

export interface Resolved {
  expiresAt: Date | null
  redemption: RedemptionPolicy | null
  hasBalances: boolean
}

export interface PassFacts {
  id: string
  externalPassId: string
  label: string
  scanCode: string
  /** The barcode content that another provider printed. It replaces the scan code and the barcode message. */
  scanPayload?: string | null
  variables: Variables
  balanceSums?: BalanceSums | null
  templateName: string
  projectName: string | null
}

/**
 * Returns the values of a pass's placeholders.
 * @param expiresAt the resolved expiry; `undefined` before the expiry is resolved
 */
export function buildScope(
  { variables: declared, ...ofBalances }: Pick<Definition, 'variables' | 'balances'>,
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
  for (const [name, value] of balanceTexts(ofBalances, facts.balanceSums ?? null)) scope.set(name, value)
  return scope
}

/** Returns the example or else the default of each variable that has one, and the start value of each balance. */
export function exampleScope({ variables, ...ofBalances }: Pick<Definition, 'variables' | 'balances'>): Scope {
  const examples = variables.flatMap(({ name, example, default: fallback }): [string, string][] => {
    const value = example ?? fallback
    return value === undefined ? [] : [[name, value]]
  })
  return new Map([...examples, ...balanceTexts(ofBalances, null)])
}

/** Returns the placeholders of a version without values of a holder: with defaults and the `values` of its class. */
export function templateScope(
  { variables, ...ofBalances }: Pick<Definition, 'variables' | 'balances'>,
  { templateName, projectName }: Pick<PassFacts, 'templateName' | 'projectName'>,
  values: Record<string, string> = {},
): Scope {
  const scope = new Map([['template.name', templateName]])
  if (projectName !== null) scope.set('project.name', projectName)
  for (const { name, default: fallback } of variables) if (fallback !== undefined) scope.set(name, fallback)
  for (const [name, value] of balanceTexts(ofBalances, null)) scope.set(name, value)
  for (const [name, value] of Object.entries(values)) scope.set(name, value)
  return scope
}

export function resolvePolicies(definition: Definition, facts: PassFacts): Resolved | { issues: Issue[] } {
  const expiresAt = resolveExpiry(definition, buildScope(definition, facts))
  if ('issues' in expiresAt) return { issues: expiresAt.issues.map((issue) => atVariable(issue, definition)) }
  const redemption = resolveRedemption(definition, buildScope(definition, facts, expiresAt.value))
  if ('issues' in redemption) return { issues: redemption.issues.map((issue) => atVariable(issue, definition)) }
  const hasBalances = Object.keys(definition.balances ?? {}).length > 0
  return { expiresAt: expiresAt.value, redemption: redemption.value, hasBalances }
}

/**
 * Moves an issue from the definition to the variable that caused it, because a request contains only variables. Does
 * not move an issue that several variables can have caused.
 */
function atVariable(issue: Issue, definition: Definition): Issue {
  const text = valueAt(definition, issue.path)
  const [name, ...others] = typeof text === 'string' ? new Set(placeholdersIn(text)) : []
  const isOne = others.length === 0 && definition.variables.some((variable) => variable.name === name)
  return isOne ? { ...issue, path: ['variables', name!] } : issue
}

/** Returns the expiry of a pass: `null` for an empty text, and the end of the day in the time zone for a date. */
export function resolveExpiry(
  { expiresAt, timeZone = 'UTC' }: Pick<Definition, 'expiresAt' | 'timeZone'>,
  scope: Scope,
): Parsed<Date | null> {
  const text = expiresAt === null ? '' : fill(expiresAt, scope).trim()
  if (text === '') return { value: null }
  if (DateOnly.safeParse(text).success) return { value: endOfDay(text, timeZone) }
  if (Timestamp.safeParse(text).success) return { value: new Date(text) }
  return {
    issues: [{ path: ['expiresAt'], message: `Must be a date or a date-time, but resolved to "${excerpt(text)}"` }],
  }
}

const DateOnly = z.iso.date()

function endOfDay(date: string, timeZone: string): Date {
  const end = DateTime.fromISO(date, { zone: oneSpelling(timeZone) }).endOf('day')
  // Limit the time to the year 9999 in UTC. West of UTC, the last day of that year ends in the year 10000, which has
  // another format in ISO 8601.
  return new Date(Math.min(end.toMillis(), LAST_MOMENT))
}

const LAST_MOMENT = Date.parse('9999-12-31T23:59:59.999Z')

export function resolveRedemption(
  { redemption }: Pick<Definition, 'redemption'>,
  scope: Scope,
): Parsed<RedemptionPolicy | null> {
  if (!redemption) return { value: null }
  const issues: Issue[] = []
  const filled = mapStrings(redemption, (text, path) => fillLeaf(text, ['redemption', ...path], scope, issues))
  if (issues.length > 0) return { issues }
  const parsed = parseAs(RedemptionPolicy, filled)
  const found = 'issues' in parsed ? parsed.issues : checkWindows(parsed.value)
  return found.length > 0
    ? { issues: found.map(({ path, message }) => ({ path: ['redemption', ...path], message })) }
    : parsed
}

/** Rejects windows that do not end after their start, because such windows never admit a pass. */
function checkWindows({ windows = [] }: RedemptionPolicy): Issue[] {
  return windows.flatMap(({ start, end }, index) =>
    start !== undefined && end !== undefined && Date.parse(end) <= Date.parse(start)
      ? [{ path: ['windows', index, 'end'], message: 'Must be after the start of the window' }]
      : [],
  )
}

const TEXT_LEAVES = new Set(['start', 'end', 'timezone'])

/**
 * Fills a text of a policy. If a placeholder takes the place of a number, its value becomes a number. Reports a
 * placeholder without a value: a policy without that limit would admit everyone.
 */
function fillLeaf(template: string, path: Issue['path'], scope: Scope, issues: Issue[]): string | number {
  const text = fill(template, scope)
  const name = lonePlaceholder(template)
  if (name !== undefined && text === '') issues.push({ path, message: `The placeholder {{${name}}} has no value` })
  const isNumber = name !== undefined && !TEXT_LEAVES.has(String(path.at(-1)))
  return isNumber && /^\d{1,15}$/.test(text) ? Number(text) : text
}

function excerpt(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text
}
