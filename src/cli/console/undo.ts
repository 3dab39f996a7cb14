import type { Client } from '../../client/client.ts'
import { newId } from '../../core/ids.ts'
import { ask } from './ask.ts'
import type { DoorStore } from './offline/store.ts'
import { failedOutcome, failureMessage, type Outcome, outcomeOfAnswer, type Station } from './outcome.ts'
import type { Tally } from './screen/tally.ts'

export interface Undo {
  /** The newest accepted scan that was not taken back. */
  last(tally: Tally): Outcome | undefined
  /** Takes it back in the ledger. It never throws. */
  reverse(scan: Outcome): Promise<Outcome>
}

export function createUndo(options: { client: Client; store: DoorStore; station: Station; clock: () => Date }): Undo {
  const { client, store, station, clock } = options
  const undone = new Set<string>()
  /** By scan: where no answer came, the same reversal is asked for again. */
  const references = new Map<string, string>()

  return {
    last: ({ last }) => last.find(({ result, externalRef }) => result === 'accepted' && !undone.has(externalRef)),

    async reverse(scan) {
      const at = clock()
      const externalRef = references.get(scan.externalRef) ?? newId(at)
      references.set(scan.externalRef, externalRef)
      const attempt = { ...scan, externalRef, at, scanContextKey: null, validityDate: null }
      const failed = (message: string) => ({ ...failedOutcome(attempt, message), label: scan.label })
      if (scan.scanId === null) return failed('The server has not got this scan yet. Undo it when the server is back.')
      const { deviceId, context } = station
      const body = { reason: 'Undone at the door', externalRef, context, ...(deviceId !== undefined && { deviceId }) }
      try {
        const params = { id: scan.scanId }
        const reply = await ask((callOptions) => client.scans.reverse({ params, body }, callOptions))
        if (reply.kind === 'silence')
          return failed('No answer from the server: it is not known whether it was undone. Undo again.')
        if (reply.kind === 'refusal') return failed(failureMessage(reply.error))
        undone.add(scan.externalRef)
        const { recordedAt } = reply.value.scan
        if (scan.passId !== null) {
          store.append({ kind: 'reversed', passId: scan.passId, scannedAt: scan.scannedAt, recordedAt })
        }
        return outcomeOfAnswer({ payload: scan.payload, externalRef, at }, reply.value)
      } catch (error) {
        return failed(`Not undone: ${failureMessage(error)}`)
      }
    },
  }
}
