import type { RedemptionPolicy } from '../contract/redemption.ts'

/** The dates (YYYY-MM-DD) that the fixed windows of a policy start on, as authored: each in its own offset. */
export function windowDates(policy: RedemptionPolicy | null): string[] {
  return [...new Set((policy?.windows ?? []).flatMap(({ start }) => (start === undefined ? [] : [start.slice(0, 10)])))]
}
