import type { Outcome } from '../outcome.ts'

/** What stands below the verdict: the last scans and the counts of this console since it started. */
export interface Tally {
  /** Newest first. */
  last: Outcome[]
  accepted: number
  turnedAway: number
  /** When those of the last minute were judged, in milliseconds. */
  recent: number[]
}

const LAST = 8
const MINUTE_MS = 60_000

export const emptyTally: Tally = { last: [], accepted: 0, turnedAway: 0, recent: [] }

export function count(tally: Tally, outcome: Outcome, at: number): Tally {
  const isVerdict = outcome.result !== 'error' && outcome.result !== 'reversal'
  return {
    last: [outcome, ...tally.last].slice(0, LAST),
    accepted: tally.accepted + (outcome.result === 'accepted' ? 1 : outcome.result === 'reversal' ? -1 : 0),
    turnedAway: tally.turnedAway + (isVerdict && outcome.result !== 'accepted' ? 1 : 0),
    recent: isVerdict ? [...recentAt(tally, at), at] : tally.recent,
  }
}

/** The same with something that became known later about one of the last scans. */
export function amend(tally: Tally, externalRef: string, later: Partial<Outcome>): Tally {
  return {
    ...tally,
    last: tally.last.map((outcome) => (outcome.externalRef === externalRef ? { ...outcome, ...later } : outcome)),
  }
}

/** Verdicts in the minute before a moment. */
export function rate(tally: Tally, at: number): number {
  return recentAt(tally, at).length
}

function recentAt({ recent }: Tally, at: number): number[] {
  return recent.filter((moment) => at - moment < MINUTE_MS)
}
