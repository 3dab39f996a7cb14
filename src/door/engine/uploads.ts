import { MAX_LOCKED_REPORTS } from '../../core/bounds.ts'
import { type OfflineDecision, reportOf } from '../../core/rules/door/own-scans.ts'
import { pause } from './clock.ts'
import type { UploadEnd, Uploads } from './connection.ts'
import type { EngineContext, Reply } from './server.ts'
import type { Identity, JournalEntry, UploadResult } from './store/engine-store.ts'

/**
 * The maximum number of entries in a batch. It is small: if all doors of a venue reconnect at the same time, each must
 * upload some entries before a timeout.
 */
const BATCH = 25
/**
 * The suffix of the second `externalRef` of an offline admission. If the online request timed out, the server can have
 * recorded the scan as denied under the first reference. The ledger must also contain the admission, as a conflict.
 */
const ACTED = '+acted'
/**
 * The maximum time, in milliseconds, that a scan waits for the last uploads. After this time, the scan is evaluated
 * offline.
 */
const REST_MS = 500
export const UNDO_REASON = 'Undone at the door'

export function createUploads(
  context: EngineContext,
  /** Receives the server's reason for rejecting every entry, or `null`. */
  onEnd: (rejection: string | null) => Promise<void>,
): Uploads {
  const { store, environment, identity, between } = context

  function upload(signal: AbortSignal, leave: number): Promise<UploadEnd> {
    return environment.withLock('upload', async () => {
      const door = identity()?.door
      if (!door) return { kind: 'done' }
      const end = await uploadWaiting(context, { door, signal, leave })
      await onEnd(end.kind === 'rejection' ? end.message : null)
      return end
    })
  }

  return {
    uploadMost: (signal) => upload(signal, MAX_LOCKED_REPORTS),
    uploadRest: (signal) => between(() => Promise.race([upload(signal, 0), pause(REST_MS)])),
    areDone: () =>
      between(async () => {
        const door = identity()?.door
        return !door || (await store().waiting(door.projectId, 1)).length === 0
      }),
  }
}

/**
 * Sends pending entries, oldest first, until at most `leave` are left. Sending twice does no harm: the ledger records
 * an externalRef once. An entry that the server rejects does not block others: it is kept with the reason, and not sent
 * again.
 *
 * The exception is an exit, counted without a scan, that would make the number of people inside negative. This entry is
 * held and sent again at each probe, because an offline entrance may not have uploaded its entries yet.
 */
async function uploadWaiting(
  context: EngineContext,
  { door, signal, leave }: { door: Identity['door']; signal: AbortSignal; leave: number },
): Promise<UploadEnd> {
  const { server, clock, environment, refresh } = context
  const { projectId } = door
  const store = context.store()
  /** The zones in which the server rejected an exit, because too few people are inside. */
  const emptyZones = new Set<string>()
  for (;;) {
    const waiting = await store.waiting(projectId, BATCH)
    const [first] = waiting
    if (!first || waiting.length <= leave) break
    const sent = await send(first, waiting)
    if (sent) return sent
    refresh()
  }
  // Send entries with `isHeld` again, but not in `uploadRest` (`leave` is 0), because scans wait for `uploadRest`.
  if (leave === 0) return { kind: 'done' }
  const { held } = await store.summary()
  for (const entry of held) {
    if (entry.projectId !== projectId || emptyZones.has(entry.adjustment.zoneId)) continue
    const sent = await adjust(entry, entry.adjustment)
    if (sent) return sent
  }
  return { kind: 'done' }

  function send(first: JournalEntry, waiting: JournalEntry[]): Promise<UploadEnd | undefined> {
    if (first.adjustment) return adjust(first, first.adjustment)
    return first.undoes ? reverse(first) : report(first, waiting)
  }

  async function report(first: JournalEntry, waiting: JournalEntry[]): Promise<UploadEnd | undefined> {
    const batch = batchOf(first, waiting)
    const reply = await sendBatch(batch)
    if (reply.kind === 'answer') return settle(reply.value)
    if (reply.kind === 'timeout') return reply
    if (![400, 413].includes(reply.status)) return { kind: 'rejection', message: reply.message }
    // Send each entry of a rejected batch separately, so that an invalid entry does not block others.
    for (const entry of batch) {
      const single = await sendBatch([entry])
      if (single.kind === 'timeout') return single
      if (single.kind === 'answer') await settle(single.value)
      else await discard(entry, single.message)
    }
    return undefined
  }

  async function sendBatch(batch: JournalEntry[]): Promise<Reply<UploadResult[]>> {
    const decisions = batch.map(({ decision }) => decision!)
    const reply = await reportAs(decisions, ({ externalRef }) => externalRef)
    if (reply.kind !== 'answer') return reply
    const overruled = decisions.filter(({ externalRef, result }) => {
      return result === 'accepted' && reply.value.get(externalRef)!.scan.result !== result
    })
    const acted = overruled.length === 0 ? reply : await reportAs(overruled, ({ externalRef }) => externalRef + ACTED)
    if (acted.kind !== 'answer') return acted
    const results = decisions.map(({ externalRef, result }): UploadResult => {
      const { scan, conflict } = acted.value.get(externalRef + ACTED) ?? reply.value.get(externalRef)!
      const disagreed = conflict ?? (scan.result === result ? null : scan.reason)
      return { externalRef, recordedAt: scan.recordedAt, scanId: scan.id, conflict: disagreed }
    })
    return { kind: 'answer', value: results }
  }

  async function reportAs(decisions: OfflineDecision[], refOf: (decision: OfflineDecision) => string) {
    const scans = decisions.map((decision) => ({ ...reportOf(decision), externalRef: refOf(decision) }))
    const reply = await server.report({ snapshotId: decisions[0]!.snapshotId, scans }, signal)
    if (reply.kind !== 'answer') return reply
    const results = new Map(reply.value.results.map((result) => [result.externalRef, result]))
    return { kind: 'answer' as const, value: results }
  }

  async function reverse(entry: JournalEntry): Promise<UploadEnd | undefined> {
    const { externalRef, undoes } = entry
    const scanId = undoes!.scanId ?? (await store.decision(undoes!.externalRef))?.scanId
    if (!scanId) return discard(entry, 'The undone scan never reached the server.')
    const station = environment.settings.station(door)
    const { deviceId } = station
    const body = {
      reason: UNDO_REASON,
      externalRef,
      context: station.context,
      ...(deviceId !== undefined && { deviceId }),
    }
    const reply = await server.reverse(scanId, body, signal)
    if (reply.kind === 'timeout') return reply
    if (reply.kind === 'answer') return settle([{ externalRef, recordedAt: reply.value.scan.recordedAt }])
    const isOfAnother = reply.code === 'FORBIDDEN'
    // If the server rejects every request of the door, for example because its workspace is suspended, keep the
    // reversal pending, like scans.
    if ([401, 403].includes(reply.status) && !isOfAnother) return { kind: 'rejection', message: reply.message }
    // Treat the reversal as uploaded, because a 409 means that the scan is already reversed.
    if (reply.status === 409) return settle([{ externalRef, recordedAt: now() }])
    return discard(entry, reply.message, isOfAnother)
  }

  async function adjust(
    entry: JournalEntry,
    { zoneId, delta, reason }: NonNullable<JournalEntry['adjustment']>,
  ): Promise<UploadEnd | undefined> {
    const { externalRef } = entry
    if (delta < 0 && emptyZones.has(zoneId)) return hold(entry)
    const reply = await server.adjustZone(zoneId, { delta, reason, externalRef }, signal)
    if (reply.kind === 'timeout') return reply
    if (reply.kind === 'rejection') {
      if ([401, 403].includes(reply.status)) return { kind: 'rejection', message: reply.message }
      if (reply.status !== 409 || delta >= 0) return discard(entry, reply.message)
      emptyZones.add(zoneId)
      return hold(entry)
    }
    await settle([{ externalRef, recordedAt: now() }])
    await store.learnZones([reply.value], { at: now() })
    return undefined
  }

  /** Returns the server's time, as this phone knows it. */
  function now(): string {
    return clock.now().toISOString()
  }

  function hold({ externalRef }: JournalEntry): Promise<undefined> {
    return settle([{ externalRef, recordedAt: null, rejection: 'held', isHeld: true }])
  }

  async function settle(results: UploadResult[]): Promise<undefined> {
    await store.settleUploads(results)
  }

  function discard({ externalRef }: JournalEntry, rejection: string, isOfAnother = false): Promise<undefined> {
    return settle([{ externalRef, recordedAt: null, rejection, isOfAnother }])
  }
}

/**
 * Returns the entries of the next batch. A request names one snapshot, so a batch ends before a decision made with
 * another snapshot, and before an entry that is not a decision.
 */
function batchOf(first: JournalEntry, waiting: JournalEntry[]): JournalEntry[] {
  const end = waiting.findIndex(({ decision }) => decision?.snapshotId !== first.decision!.snapshotId)
  return end < 0 ? waiting : waiting.slice(0, end)
}
