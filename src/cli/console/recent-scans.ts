import type { Client } from '../../client/client.ts'
import { newId } from '../../core/ids.ts'
import { failedOutcome, type Outcome, outcomeOfResponse, type Station } from '../../core/rules/door/outcome.ts'
import { ask } from './connection.ts'
import { clockZone } from './lines.ts'
import type { DoorStore } from './offline/store.ts'
import { failureMessage } from './outcome.ts'

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

/** Updates a recent scan with later information. */
export function amend(counters: Counters, externalRef: string, later: Partial<Outcome>): Counters {
  return {
    ...counters,
    last: counters.last.map((outcome) => (outcome.externalRef === externalRef ? { ...outcome, ...later } : outcome)),
  }
}

/** Returns the number of decisions in the minute before a time. */
export function rate(counters: Counters, at: number): number {
  return recentAt(counters, at).length
}

function recentAt({ recent }: Counters, at: number): number[] {
  return recent.filter((moment) => at - moment < MINUTE_MS)
}

/** Reverses scans of this console; see `createUndo`. */
export interface Undo {
  /** Returns the newest accepted scan that was not reversed. */
  last(counters: Counters): Outcome | undefined
  /** Reverses a scan in the ledger, which requires the server. Never throws: an error is the outcome. */
  reverse(scan: Outcome): Promise<Outcome>
}

/** Creates the reversal of this console's recent scans. Each is reversed at most once. */
export function createUndo(options: { client: Client; store: DoorStore; station: Station; clock: () => Date }): Undo {
  const { client, store, station, clock } = options
  const undone = new Set<string>()
  /** References by scan, so that a reversal without a response is retried with the same one. */
  const references = new Map<string, string>()

  return {
    last: ({ last }) => last.find(({ result, externalRef }) => result === 'accepted' && !undone.has(externalRef)),

    async reverse(scan) {
      const at = clock()
      const externalRef = references.get(scan.externalRef) ?? newId(at)
      references.set(scan.externalRef, externalRef)
      const attempt = { ...scan, externalRef, at, scanContextKey: null, validityDate: null }
      const failed = (message: string) => ({ ...failedOutcome(attempt, message), label: scan.label })
      if (scan.scanId === null)
        return failed('Not undone: the server has not got this scan yet. Undo it when the server is back.')
      const { deviceId, context } = station
      const body = { reason: 'Undone at the door', externalRef, context, ...(deviceId !== undefined && { deviceId }) }
      try {
        const params = { id: scan.scanId }
        const headers = { 'x-time-zone': clockZone() }
        const reply = await ask((callOptions) => client.scans.reverse({ params, body, headers }, callOptions))
        if (reply.kind === 'timeout')
          return failed('No answer from the server: it is not known whether it was undone. Undo again.')
        if (reply.kind === 'rejection') return failed(failureMessage(reply.error))
        undone.add(scan.externalRef)
        const { recordedAt } = reply.value.scan
        if (scan.passId !== null) {
          store.append({ kind: 'reversed', passId: scan.passId, scannedAt: scan.scannedAt, recordedAt })
        }
        return outcomeOfResponse({ payload: scan.payload, externalRef, at }, reply.value)
      } catch (error) {
        return failed(`Not undone: ${failureMessage(error)}`)
      }
    },
  }
}
