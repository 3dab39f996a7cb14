import type { RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'

/** An accepted scan that was not reversed. */
export interface AcceptedScan {
  scannedAt: Date
  scanContextKey: string | null
}

/**
 * The history of a pass from a list of its accepted scans, for a device that has nothing else. Which of several
 * overlapping windows each was charged to is not known there: it counts in all of them.
 */
export function historyOf(
  plan: RedemptionPlan,
  scans: readonly AcceptedScan[],
  scanContextKey: string | null,
): RedemptionHistory {
  const all = scans.map(({ scannedAt }) => scannedAt.getTime())
  const inContext = scans
    .filter((scan) => scan.scanContextKey === scanContextKey)
    .map(({ scannedAt }) => scannedAt.getTime())
  const at = plan.at.getTime()
  return {
    total: all.length,
    firstAt: least(all),
    lastAt: greatest(all),
    inContext: inContext.length,
    contextFirstAt: least(inContext),
    contextLastAt: greatest(inContext),
    previousAt: greatest(all.filter((time) => time <= at)),
    nextAt: least(all.filter((time) => time > at)),
    counts: new Map(
      plan.counted.map(({ key, from, to }) => {
        const within = all.filter((time) => from <= time && time < to)
        return [key, { count: within.length, firstAt: least(within) }]
      }),
    ),
  }
}

function least(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)))
}

function greatest(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.max(a, b)))
}
