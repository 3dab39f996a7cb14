import type { Outcome } from '../../core/rules/door/outcome.ts'

/** Recent scans and counters of this console since it started. */
export interface Counters {
  /** Newest first. */
  last: Outcome[]
  accepted: number
  turnedAway: number
  /** The evaluation times of the last minute, in milliseconds. */
  recent: number[]
}

const LAST = 8
const MINUTE_MS = 60_000

export const noScans: Counters = { last: [], accepted: 0, turnedAway: 0, recent: [] }

/** Returns the counters with another outcome. */
export function count(counters: Counters, outcome: Outcome, at: number): Counters {
  // An ambiguous scan is decided by the choice that follows.
  const isDecision = !['error', 'reversal', 'ambiguous'].includes(outcome.result)
  return {
    last: [outcome, ...counters.last].slice(0, LAST),
    accepted: counters.accepted + (outcome.result === 'accepted' ? 1 : outcome.result === 'reversal' ? -1 : 0),
    turnedAway: counters.turnedAway + (isDecision && outcome.result !== 'accepted' ? 1 : 0),
    recent: isDecision ? [...recentAt(counters, at), at] : counters.recent,
  }
}

/** Returns the counters with what the engine learned about recent scans since. */
export function amend(counters: Counters, known: readonly Outcome[]): Counters {
  const byReference = new Map(known.map((outcome) => [outcome.externalRef, outcome]))
  return {
    ...counters,
    last: counters.last.map((outcome) => {
      const { scanId, conflict, verified } = byReference.get(outcome.externalRef) ?? outcome
      return outcome.result === 'same_scan' ? outcome : { ...outcome, scanId, conflict, verified }
    }),
  }
}

/** Returns the number of decisions in the minute before a time. */
export function rate(counters: Counters, at: number): number {
  return recentAt(counters, at).length
}

function recentAt({ recent }: Counters, at: number): number[] {
  return recent.filter((moment) => at - moment < MINUTE_MS)
}
