import { z } from 'zod'
import { isTimeZone } from '../../rules/redemption/time-zones.ts'
import { lonePlaceholder } from '../../rules/template/placeholder.ts'
import { Timestamp } from './common.ts'

/** An IANA time zone. */
export const Timezone = z.string().refine(isTimeZone, 'Must be an IANA timezone identifier, UTC or GMT')

const integer = (max: number) => z.int().min(1).max(max)

/** The maximum of each integer in a redemption policy. The minimum is 1. */
export const policyBounds = {
  maxUses: 100_000,
  count: 100_000,
  minIntervalMinutes: 527_040,
  validForHours: 87_840,
} as const

/** Returns the schema of a redemption policy. In a definition, its values can also be placeholders. */
function policyOf<N extends z.ZodType, D extends z.ZodType, Z extends z.ZodType, B extends z.ZodType>(leaf: {
  integer: (max: number) => N
  dateTime: D
  timezone: Z
  basis: B
}) {
  return z.strictObject({
    windows: z
      .array(
        z.strictObject({
          start: leaf.dateTime.optional(),
          end: leaf.dateTime.optional(),
          maxUses: leaf.integer(policyBounds.maxUses).optional(),
        }),
      )
      .min(1)
      .max(366)
      .optional(),
    maxUses: leaf.integer(policyBounds.maxUses).optional(),
    autoVoidOnExhaustion: z.boolean().optional(),
    perPeriod: z
      .strictObject({
        unit: z.enum(['day', 'week', 'month']),
        count: leaf.integer(policyBounds.count),
        timezone: leaf.timezone,
      })
      .optional(),
    minIntervalMinutes: leaf.integer(policyBounds.minIntervalMinutes).optional(),
    activation: z
      .strictObject({ basis: leaf.basis, validForHours: leaf.integer(policyBounds.validForHours) })
      .optional(),
  })
}

/** The redemption policy of a pass, which scans enforce. A window without a start or end is open on that side. */
export const RedemptionPolicy = policyOf({
  integer,
  dateTime: Timestamp,
  timezone: Timezone,
  basis: z.literal('firstScan'),
})
export type RedemptionPolicy = z.output<typeof RedemptionPolicy>

/** A redemption policy in a definition. Its strings can contain placeholders, and its numbers can be placeholders. */
export const RedemptionTemplate = policyOf({
  integer: (max) =>
    z.union([integer(max), z.string().refine((value) => lonePlaceholder(value) !== undefined)], {
      error: `Must be a whole number from 1 to ${max}, or a lone placeholder such as {{uses}}`,
    }),
  dateTime: z.string().max(500),
  timezone: z.string().max(500),
  basis: z.literal('firstScan'),
})
export type RedemptionTemplate = z.output<typeof RedemptionTemplate>
