import { setImmediate } from 'node:timers/promises'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories, Services } from '../context.ts'
import { queueWalletUpdates } from '../wallet-sync/wallet-updates.ts'
import { workInChunks } from './chunks.ts'

/** Rows of one transaction: few enough that nobody notices it. */
const ROWS = 500

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
    let deleted = ROWS
    while (deleted === ROWS && !stopping.aborted) {
      deleted = await store.transaction((tx) => work(tx, before))
      await setImmediate()
    }
  }

  await deleteOld(deliveriesDays, (tx, before) => tx.retention.deleteDeliveries(before, ROWS))
  await deleteOld(deliveriesDays, (tx, before) => tx.retention.deleteEvents(before, ROWS))
  await deleteOld(auditDays, (tx, before) => tx.retention.deleteAuditEntries(before, ROWS))
  await deleteOld(ERASED_REGISTRATION_DAYS, (tx, before) => tx.retention.deleteErasedRegistrations(before, ROWS))
  await deleteOld(GOOGLE_CALLBACK_DAYS, (tx, before) => tx.retention.deleteGoogleCallbacks(before, ROWS))
}

/** Passes of one chunk. */
const DETACHED = 1_000

/** Takes the passes of a deleted project out of it, so that no one waits for a million. */
export async function detachProjects(jobs: Job[], services: Services): Promise<void> {
  for (const job of jobs) {
    await workInChunks(job, services, async (tx) => {
      const detached = await tx.passes.detachFromProject(job.workspaceId, job.subject, DETACHED, services.clock())
      if (detached === DETACHED) return false
      await tx.jobs.complete([job])
      return true
    })
  }
}

/** Passes of one transaction, and transactions of one run: what is left is taken up a second later. */
const EXPIRED = 500
const TRANSACTIONS = 10

/** Marks passes past their expiry, and queues what wallets are to show of it. One that stops leaves the rest. */
export async function expirePasses({ store, clock, stopping }: Services): Promise<void> {
  // A read first: a scheduler with nothing to do must not take turns with writers.
  if (!(await store.passes.hasExpired(clock()))) return
  let expired = EXPIRED
  for (let n = 0; n < TRANSACTIONS && expired === EXPIRED && !stopping.aborted; n += 1) {
    expired = await store.transaction(async (tx) => {
      const at = clock()
      const passes = await tx.passes.expire(at, EXPIRED)
      for (const workspaceId of new Set(passes.map((pass) => pass.workspaceId))) {
        const ids = passes.filter((pass) => pass.workspaceId === workspaceId).map((pass) => pass.id)
        await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId: null, isBulk: true })
      }
      return passes.length
    })
  }
}
