import { z } from 'zod'
import { MAX_AMOUNT } from '../../bounds.ts'
import { text, withoutProto } from './common.ts'
import { translatable } from './language-tags.ts'

const MAX_BALANCES = 5

/** The unit of a balance: whole numbers, or the minor units of a currency. */
export const BalanceKind = z.enum(['integer', 'currency'])
export type BalanceKind = z.output<typeof BalanceKind>

/** The name of a balance. */
export const BalanceName = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, 'Must be a letter followed by up to 63 letters, digits or _')

const Amount = z.int().min(-MAX_AMOUNT).max(MAX_AMOUNT)

/** The amount by which a balance changes, which is not 0. */
export const BalanceDelta = Amount.refine((delta) => delta !== 0, 'Must not be 0')

/** A balance that each pass has. A balance in a currency counts minor units, such as cents. */
export const BalanceDefinition = z.strictObject({
  label: translatable(text(1, 255)),
  kind: BalanceKind,
  /** An ISO 4217 code. Required for the kind `currency`. */
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/, 'Must be a currency of ISO 4217, such as EUR')
    .optional(),
  /** The value of the balance before its first entry. */
  start: Amount.default(0),
  min: Amount.default(0),
  /** The maximum value; 1,000,000,000,000 if omitted. */
  max: Amount.optional(),
  /** The total amount that an offline door can debit from a pass before the door uploads its scans. */
  offlineAllowance: z.int().min(0).max(MAX_AMOUNT).default(0),
})
export type BalanceDefinition = z.output<typeof BalanceDefinition>

/** The balances that each pass has, by name. */
export const Balances = withoutProto(z.record(BalanceName, BalanceDefinition)).refine(
  (balances) => Object.keys(balances).length <= MAX_BALANCES,
  `Must have at most ${MAX_BALANCES} balances`,
)

/** A rule that changes a balance when an accepted scan debits a use. */
export const BalanceRule = z.strictObject({
  balance: BalanceName,
  delta: BalanceDelta,
  when: z.enum(['accepted']).default('accepted'),
})
export type BalanceRule = z.output<typeof BalanceRule>

/** The rules that change balances when an accepted scan debits a use. */
export const BalanceRules = z.array(BalanceRule).max(MAX_BALANCES)
