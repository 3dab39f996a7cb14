import { setImmediate } from 'node:timers/promises'
import type { Repositories, Services } from '../context.ts'

/** Rows of one transaction: few enough that nobody notices it. */
const CHUNK = 500

const DAY_MS = 24 * 3_600_000

/** A phone has so long to fetch the card of a pass that was erased; then its registration goes too. */
const ERASED_REGISTRATION_DAYS = 30

/** Google repeats a callback for hours at most. */
const GOOGLE_CALLBACK_DAYS = 30

/**
 * Deletes what is past its time, oldest first, a chunk in each transaction, so that others write in between. What is
 * pending stays. Several servers may sweep at once, and one that stops leaves the rest to the next sweep.
 */
export async function sweep({ store, clock, retention, stopping }: Services): Promise<void> {
  const { deliveriesDays, auditDays } = retention

  async function deleteOld(days: number, work: (tx: Repositories, before: Date) => Promise<number>): Promise<void> {
    if (days === 0) return
    const before = new Date(clock().getTime() - days * DAY_MS)
    let deleted = CHUNK
    while (deleted === CHUNK && !stopping.aborted) {
      deleted = await store.transaction((tx) => work(tx, before))
      await setImmediate()
    }
  }

  await deleteOld(deliveriesDays, (tx, before) => tx.retention.deleteDeliveries(before, CHUNK))
  await deleteOld(deliveriesDays, (tx, before) => tx.retention.deleteEvents(before, CHUNK))
  await deleteOld(auditDays, (tx, before) => tx.retention.deleteAuditEntries(before, CHUNK))
  await deleteOld(ERASED_REGISTRATION_DAYS, (tx, before) => tx.retention.deleteErasedRegistrations(before, CHUNK))
  await deleteOld(GOOGLE_CALLBACK_DAYS, (tx, before) => tx.retention.deleteGoogleCallbacks(before, CHUNK))
}
