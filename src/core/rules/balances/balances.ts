import { MAX_AMOUNT } from '../../bounds.ts'
import type { BalanceDefinition } from '../../contract/schemas/balances.ts'
import type { Definition } from '../../contract/schemas/definition.ts'
import { currencyDigits } from '../../formats.ts'

/** The sum and number of the entries of a balance, and the time of the last entry in milliseconds since 1970. */
export interface BalanceSum {
  sum: number
  count: number
  at: number
}

/** The sums of the balances of a pass, by name. Omits balances without entries. */
export type BalanceSums = Readonly<Record<string, BalanceSum>>

export type WithBalances = Pick<Definition, 'balances' | 'balanceRules'>

type Bounded = Pick<BalanceDefinition, 'min' | 'max'>

/** Returns the value of a balance: its start plus the sum of its entries. */
export function balanceValue(
  { start }: Pick<BalanceDefinition, 'start'>,
  name: string,
  sums: BalanceSums | null,
): number {
  return start + sumOf(sums, name).sum
}

/** Ignores inherited keys, because the name `constructor` would otherwise find a function. */
export function sumOf(sums: BalanceSums | null, name: string): BalanceSum {
  return (sums && Object.hasOwn(sums, name) && sums[name]) || { sum: 0, count: 0, at: 0 }
}

export function findBalance({ balances = {} }: Pick<Definition, 'balances'>, name: string) {
  return Object.hasOwn(balances, name) ? balances[name] : undefined
}

export function maxOf({ max = MAX_AMOUNT }: Bounded): number {
  return max
}

/**
 * Whether a change keeps a balance within its bounds. A later version can move the bounds, so that the value is
 * outside. A change toward the bounds then also counts as covered.
 */
export function isCovered(balance: Bounded, value: number, delta: number): boolean {
  return delta === coveredPart(balance, value, delta)
}

/** Returns the largest part of a change that keeps a balance within its bounds; 0 if no part is possible. */
export function coveredPart(balance: Bounded, value: number, delta: number): number {
  return delta < 0
    ? Math.min(0, Math.max(delta, balance.min - value))
    : Math.max(0, Math.min(delta, maxOf(balance) - value))
}

export interface RuledBalance {
  name: string
  value: number
  /** The change by an accepted scan, limited by the bounds of the balance. 0 if no rule changes the balance. */
  delta: number
  /** Whether the rule would debit more than the balance covers. */
  isUncovered: boolean
}

/** Returns every balance of a pass, with its change by an accepted scan, in the order of the definition. */
export function applyRules(
  { balances = {}, balanceRules = [] }: WithBalances,
  sums: BalanceSums | null,
): RuledBalance[] {
  return Object.entries(balances).map(([name, balance]) => {
    const value = balanceValue(balance, name, sums)
    const wanted = balanceRules.find((rule) => rule.balance === name)?.delta ?? 0
    const delta = coveredPart(balance, value, wanted)
    return { name, value, delta, isUncovered: delta > wanted }
  })
}

export function addToSums(sums: BalanceSums | null, name: string, delta: number, at: Date): BalanceSums {
  const { sum, count } = sumOf(sums, name)
  return { ...sums, [name]: { sum: sum + delta, count: count + 1, at: at.getTime() } }
}

/** The prefix of placeholders that show a balance. The name of a variable cannot start with it. */
const PREFIX = 'balance.'

export function balancePlaceholder(name: string): string {
  return PREFIX + name
}

/** Returns the name of the balance that a placeholder shows, or `undefined` for other placeholders. */
export function balanceNamed(placeholder: string): string | undefined {
  return placeholder.startsWith(PREFIX) ? placeholder.slice(PREFIX.length) : undefined
}

/**
 * Returns the placeholders of balances with their values. Money is in the major unit of its currency, such as 12.40.
 */
export function balanceTexts(
  { balances = {} }: Pick<Definition, 'balances'>,
  sums: BalanceSums | null,
): [string, string][] {
  return Object.entries(balances).map(([name, balance]) => [
    balancePlaceholder(name),
    balanceText(balance, balanceValue(balance, name, sums)),
  ])
}

export function balanceText({ currency }: { currency?: string | null | undefined }, value: number): string {
  const digits = currency ? currencyDigits(currency) : 0
  if (digits === 0) return String(value)
  const units = String(Math.abs(value)).padStart(digits + 1, '0')
  return `${value < 0 ? '-' : ''}${units.slice(0, -digits)}.${units.slice(-digits)}`
}

/** The maximum length of the text of a balance, in bytes: a sign, 13 digits, and a decimal point. */
export const LONGEST_BALANCE = 15
