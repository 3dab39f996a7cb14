import type { RedemptionHistory, RedemptionPlan } from './redemption-plan.ts'

/** An accepted scan that was not reversed. */
export interface AcceptedScan {
  scannedAt: Date
  scanContextKey: string | null
  /** YYYY-MM-DD, where it was made as of a date. */
  validityDate: string | null
}

/**
 * The history of a pass from a list of its accepted scans, for a device that has nothing else. Which of several
 * overlapping windows each was charged to is not known there: it counts in all of them.
 */
export function historyOf(plan: RedemptionPlan, scans: readonly AcceptedScan[]): RedemptionHistory {
  const all = timesOf(scans)
  const inContext = timesOf(scans.filter((scan) => scan.scanContextKey === plan.scanContextKey))
  const keyless = timesOf(scans.filter((scan) => scan.scanContextKey === null))
  const undated = timesOf(scans.filter((scan) => scan.validityDate === null))
  const at = plan.realTime.getTime()
  return {
    total: all.length,
    firstAt: least(all),
    lastAt: greatest(all),
    inContext: inContext.length,
    contextFirstAt: least(inContext),
    contextLastAt: greatest(inContext),
    previousAt: greatest(undated.filter((time) => time <= at)),
    nextAt: least(undated.filter((time) => time > at)),
    counts: new Map(
      plan.counted.map(({ key, from, to, isKeyless }) => {
        const within = (isKeyless ? keyless : all).filter((time) => from <= time && time < to)
        return [key, { count: within.length, firstAt: least(within) }]
      }),
    ),
  }
}

function timesOf(scans: readonly AcceptedScan[]): number[] {
  return scans.map(({ scannedAt }) => scannedAt.getTime())
}

function least(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.min(a, b)))
}

function greatest(times: number[]): Date | null {
  return times.length === 0 ? null : new Date(times.reduce((a, b) => Math.max(a, b)))
}
