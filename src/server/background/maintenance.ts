import { setImmediate } from 'node:timers/promises'
import { groupBy } from '../../core/group-by.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Deleted } from '../../storage/operations/erasure.ts'
import { hourOf } from '../../storage/operations/figures-repository.ts'
import { FORMER_PASS_DAYS } from '../../storage/passes/former-passes.ts'
import type { JobServices, LongJobServices, Repositories, Services } from '../context.ts'
import { trimChains } from '../evidence/extend-chains.ts'
import { createPace, workInChunks } from '../jobs/chunks.ts'
import { emitRemovals, queueWalletUpdates } from '../wallet-sync/holders.ts'

const ROWS = { first: 250, most: 1_000 }

/**
 * Returns the bounds of the number of rows per transaction. The minimum is `passesPerTurn`: with ten rows, a busy
 * PostgreSQL would expire a third as many passes per second, and delete a sixth as many rows. On PostgreSQL, a larger
 * transaction does not delay other writers.
 */
function rowsOf({ passesPerTurn }: Pick<Services['store'], 'passesPerTurn'>) {
  return { ...ROWS, least: passesPerTurn }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * The number of days for which the registrations of an erased pass are kept, so that phones can fetch its last card.
 */
const ERASED_REGISTRATION_DAYS = 30

/**
 * The number of days for which callbacks of Google are kept. They are needed to recognize repetitions: Google repeats a
 * callback for a few hours.
 */
const GOOGLE_CALLBACK_DAYS = 30

/**
 * The number of days for which log messages of devices are kept. Older messages say nothing about the current state of
 * a device.
 */
const DEVICE_LOG_DAYS = 30

/** The number of days for which ended door invitations are kept: claims that began before the end can still finish. */
const DOOR_INVITATION_DAYS = 1

/**
 * The number of days for which snapshots are kept. Clients can request the changes since a snapshot for one day, and
 * then read the pages of these changes for another day. Later, a door must download the whole list.
 */
const SNAPSHOT_DAYS = 2

/** The number of days for which expired sessions are kept. The people are never deleted: the audit log names them. */
const SESSION_DAYS = 1

/** The number of days for which ended upgrades of passes are kept. */
const UPGRADE_DAYS = 90

/**
 * The number of days for which unprocessed join-page submissions are kept. A submission stays unprocessed if its job
 * was discarded and then deleted.
 */
const JOIN_SUBMISSION_DAYS = 30

/**
 * Deletes rows past their retention, oldest first. Keeps pending deliveries. Each chunk has its own transaction, so
 * that other writers can proceed. Several servers can run it concurrently. If a server stops, the next run continues.
 */
export async function sweep(
  services: JobServices & LongJobServices & Pick<Services, 'retention' | 'signingKeys'>,
): Promise<void> {
  const { store, clock, retention, stopping } = services
  const { deliveriesDays, auditDays } = retention

  type Delete = (tx: Repositories, before: Date, rows: number, after?: string) => Promise<Deleted>
  async function deleteOld(days: number, work: Delete): Promise<void> {
    if (days === 0) return
    const before = new Date(clock().getTime() - days * DAY_MS)
    const pace = createPace(rowsOf(store))
    let after: string | undefined
    let isMore = true
    while (isMore && !stopping.aborted) {
      isMore = await pace.run(store, async (tx, rows) => {
        const deleted = await work(tx, before, rows, after)
        after = deleted.last
        return deleted.rows === rows
      })
      await setImmediate()
    }
  }

  await deleteOld(deliveriesDays, (tx, ...given) => tx.retention.deleteDeliveries(...given))
  await deleteOld(deliveriesDays, (tx, ...given) => tx.retention.deleteEvents(...given))
  if (auditDays > 0) {
    // Trim blocks up to one hour newer than the entries to delete. Otherwise, a chain could keep deleted entries,
    // because entries are chained in the order of their commits, which can differ by seconds from the order of their
    // IDs.
    const bound = new Date(clock().getTime() - auditDays * DAY_MS + HOUR_MS)
    await trimChains(services, bound, () => !stopping.aborted)
  }
  await deleteOld(auditDays, (tx, ...given) => tx.retention.deleteByIds('audit_entries', ...given))
  await deleteOld(ERASED_REGISTRATION_DAYS, async (tx, before, rows) => {
    const { dropped, ...deleted } = await tx.retention.deleteErasedRegistrations(before, rows)
    await emitRemovals(tx, dropped, clock())
    return deleted
  })
  await deleteOld(ERASED_REGISTRATION_DAYS, (tx, before, rows) => tx.retention.forgetSerialNumbers(before, rows))
  await deleteOld(FORMER_PASS_DAYS, (tx, before, rows) => tx.retention.deleteByTimes('former_passes', before, rows))
  await deleteOld(DOOR_INVITATION_DAYS, (tx, before, rows) =>
    tx.retention.deleteByTimes('door_invitations', before, rows),
  )
  await deleteOld(SESSION_DAYS, (tx, before, rows) => tx.retention.deleteByTimes('sessions', before, rows))
  await deleteOld(GOOGLE_CALLBACK_DAYS, (tx, before, rows) => tx.googleObjects.deleteCallbacks(before, rows))
  await deleteOld(JOIN_SUBMISSION_DAYS, async (tx, before, rows) => {
    const deleted = await tx.joinSubmissions.deleteOld(before, rows)
    for (const { workspaceId, templateId } of deleted.filter(({ holdsPlace }) => holdsPlace)) {
      await tx.joinPages.release(workspaceId, templateId)
    }
    return { rows: deleted.length }
  })
  await deleteOld(DEVICE_LOG_DAYS, (tx, ...given) => tx.retention.deleteByIds('device_logs', ...given))
  await deleteOld(UPGRADE_DAYS, (tx, ...given) => tx.retention.deleteUpgrades(...given))
  await deleteOld(SNAPSHOT_DAYS, (tx, ...given) => tx.retention.deleteByIds('scanner_snapshots', ...given))
}

/**
 * The number of hours whose figures are packed together. If each hour were packed separately, the block of a project
 * would be rewritten more often.
 */
const PACKED_HOURS = 6

/** Packs the figures of past hours into blocks. Several servers can run it concurrently. */
export async function packFigures({ store, clock, stopping }: LongJobServices): Promise<void> {
  // Do not pack the previous hour, because open transactions can still add to its figures.
  const over = hourOf(clock()) - 1
  let isMore = true
  while (isMore && !stopping.aborted) {
    isMore = await store.transaction((tx) => tx.figures.pack(over - (over % PACKED_HOURS)))
    await setImmediate()
  }
}

/** Removes passes from deleted projects. A job does this, because a project can have a million passes. */
export async function detachProjects(jobs: Job[], services: LongJobServices): Promise<void> {
  for (const job of jobs) {
    await workInChunks(job, services, ROWS, async (tx, rows) => {
      const detached = await tx.passes.detachFromProject(job.workspaceId, job.subject, rows, services.clock())
      if (detached === rows) return false
      await tx.figures.deleteOfProject(job.workspaceId, job.subject)
      await tx.jobs.complete([job])
      return true
    })
  }
}

/** The maximum number of passes that a run expires. The next run follows a second later. */
const EXPIRED = 5_000

/** Marks expired passes and queues their wallet updates. If a server stops, the next run continues. */
export async function expirePasses({ store, clock, stopping }: LongJobServices): Promise<void> {
  const pace = createPace(rowsOf(store))
  let expired = 0
  // Read before writing, so that an idle scheduler never takes the write lock.
  while (expired < EXPIRED && !stopping.aborted && (await store.passes.hasExpired(clock()))) {
    const count = await pace.run(store, (tx, rows) => expireSome(tx, clock(), rows))
    // Stop, because another server is marking the remaining passes as expired.
    if (count === 0) return
    expired += count
  }
}

async function expireSome(tx: Repositories, at: Date, limit: number): Promise<number> {
  const passes = await tx.passes.expire(at, limit)
  for (const [workspaceId, ours] of groupBy(passes, (pass) => pass.workspaceId)) {
    const ids = ours.map((pass) => pass.id)
    await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId: null, isBulk: true })
    const byProject = groupBy(ours, ({ projectId }) => projectId)
    const expired = [...byProject].flatMap(([projectId, { length: n }]) =>
      projectId === null ? [] : { projectId, hour: hourOf(at), figure: 'expired', n },
    )
    await tx.figures.insert(workspaceId, expired)
  }
  return passes.length
}
