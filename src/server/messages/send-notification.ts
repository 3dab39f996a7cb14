import { CAPPED_PLATFORM, messagedPlatforms, type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { groupBy } from '../../core/group-by.ts'
import { exceedsCap } from '../../core/rules/sending/notification.ts'
import { jobBackoffSeconds, MAX_SEND_ATTEMPTS } from '../../core/rules/sending/retries.ts'
import type { Job, NewJob } from '../../storage/jobs/jobs-repository.ts'
import { CAPPED_AT, type StoredNotification } from '../../storage/messages/notification-row.ts'
import type { NotificationChange, Place } from '../../storage/messages/notifications-repository.ts'
import type { StoredRegistration } from '../../storage/passes/registrations.ts'
import type { Repositories } from '../../storage/store.ts'
import type { JobServices } from '../context.ts'
import type { DiscardedJob, Slot } from '../jobs/worker.ts'
import { emitRemovals } from '../wallet-sync/holders.ts'
import { eachIdentity } from '../wallet-sync/platform-calls.ts'
import {
  dropGone,
  errorsByPass,
  groupByOutcome,
  inParts,
  logPushes,
  type PushOutcomes,
  type PushServices,
  pushTo,
  recordPushes,
} from '../wallet-sync/push-phones.ts'

type SendServices = JobServices & PushServices

/**
 * Delivers notifications, both single ones and those of broadcasts: decides which platforms receive a notification,
 * writes its text to the back field of the pass, and pushes to the phones of the pass. Each platform in
 * `messagedPlatforms` has its own job that sends the text, so that no platform waits for another.
 */
export async function sendNotifications(jobs: Job[], services: SendServices, slot?: Slot): Promise<void> {
  let waiting = jobs
  while (waiting.length > 0) waiting = await sendSome(waiting, services, slot)
}

export async function failNotification(tx: Repositories, job: DiscardedJob, message: string, at: Date): Promise<void> {
  const [notification] = await tx.notifications.lock(job.workspaceId, [job.subject])
  if (!notification) return
  const { startedAt } = notification
  const change: NotificationChange = startedAt === null ? { started_at: at.getTime() } : {}
  for (const platform of platforms) {
    // Once delivery has begun, every platform except Apple has its own job, so set only the Apple status to FAILED.
    const isLeft = platform === 'apple' || startedAt === null
    if (isLeft && isPending(notification[platform].status)) Object.assign(change, failed(platform, message))
  }
  await tx.notifications.update(job.workspaceId, new Map([[job.subject, change]]), at)
}

/** Sends at most one notification per pass, because a pass shows one text at a time. Returns the remaining jobs. */
async function sendSome(jobs: Job[], services: SendServices, slot: Slot | undefined): Promise<Job[]> {
  const { store, clock } = services
  const { workspaceId } = jobs[0]!
  const { sendings, later } = await store.transaction((tx) => startSending(tx, workspaceId, jobs, clock()))
  if (sendings.length === 0) return later
  const parts = await inParts(workspaceId, sendings, ({ notification }) => notification.passId, store)
  for (const some of parts) await push(workspaceId, some, services, slot)
  return later
}

async function push(
  workspaceId: string,
  sendings: Sending[],
  services: SendServices,
  slot: Slot | undefined,
): Promise<void> {
  const { store } = services
  const passIds = sendings.map(({ notification }) => notification.passId)
  // Bump the update tag before the push, so that a phone that immediately requests its changed passes receives this
  // pass.
  await store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, passIds))
  const held = services.push ? await store.registrations.list(workspaceId, passIds) : []
  const passes = new Map((await store.passes.listByIds(workspaceId, passIds)).map((pass) => [pass.id, pass]))
  const registrations = held.map((one) => {
    const { appleIdentityId, walletVersion } = passes.get(one.passId)!
    return { ...one, appleIdentityId, version: walletVersion }
  })
  await eachIdentity(
    sendings,
    ({ notification }) => passes.get(notification.passId)!.appleIdentityId,
    (some) => {
      const ours = new Set(some.map(({ notification }) => notification.passId))
      const ofIdentity = registrations.filter(({ passId }) => ours.has(passId))
      return pushOf(workspaceId, { sendings: some, registrations: ofIdentity }, services, slot)
    },
  )
}

async function pushOf(
  workspaceId: string,
  { sendings, registrations }: { sendings: Sending[]; registrations: PushedRegistration[] },
  services: SendServices,
  slot: Slot | undefined,
): Promise<void> {
  const { store, clock, droppedRegistrations } = services
  const results = await pushTo(registrations, services, { slot })
  const dropped = await store.transaction(async (tx) => {
    const at = clock()
    const heldJobs = new Set(await tx.jobs.lockHeld(sendings.map(({ job }) => job)))
    const ours = sendings.filter(({ job }) => heldJobs.has(job))
    const passIds = new Set(ours.map(({ notification }) => notification.passId))
    const phones = registrations.filter(({ passId }) => passIds.has(passId))
    const outcomes = groupByOutcome(phones, results)
    const dropped = await dropGone(tx, results)
    await recordPushes(tx, workspaceId, outcomes, at)
    await settle(tx, workspaceId, ours, outcomes, at)
    await emitRemovals(tx, dropped, at)
    return dropped
  })
  droppedRegistrations.note(dropped, results.all)
  const pushed = sendings.map(({ job, notification }) => ({ job, passId: notification.passId }))
  logPushes(pushed, groupByOutcome(registrations, results), services)
}

interface PushedRegistration extends StoredRegistration {
  appleIdentityId: string | null
  version: number
}

async function settle(
  tx: Repositories,
  workspaceId: string,
  sendings: Sending[],
  outcomes: PushOutcomes<PushedRegistration>,
  at: Date,
): Promise<void> {
  const changes = new Map<string, NotificationChange>()
  // Queue updates of passes with failed pushes. The updates push again to the phones that this push did not reach.
  const updates: NewJob[] = []
  const sentByPass = groupBy(outcomes.sent, ({ passId }) => passId)
  const errors = errorsByPass(outcomes)
  for (const { job, notification } of sendings) {
    const sent = sentByPass.get(notification.passId)
    const error = errors.get(notification.passId)
    if (sent) {
      changes.set(notification.id, { apple_status: 'SENT', device_count: sent.length })
      const { kind, correlationId } = job
      const update = { workspaceId, kind: 'update-apple' as const, subject: notification.passId, correlationId }
      if (error !== undefined) updates.push({ ...update, isBulk: kind === 'send-broadcast-notification' })
    } else if (error === undefined) {
      // Skip Apple, because no push was sent and none failed: no phone has the pass, or pushes are not configured.
      changes.set(notification.id, { apple_status: 'SKIPPED' })
    } else if (job.attempts >= MAX_SEND_ATTEMPTS) {
      changes.set(notification.id, { apple_status: 'FAILED', apple_error: error })
    } else {
      await tx.jobs.retry([job], new Date(at.getTime() + jobBackoffSeconds(job.attempts) * 1000), error)
    }
  }
  await tx.notifications.update(workspaceId, changes, at)
  await tx.jobs.complete(sendings.flatMap(({ job }) => (changes.has(job.subject) ? [job] : [])))
  await tx.jobs.insertOnce(updates, at)
}

interface Sending {
  job: Job
  notification: StoredNotification
}

/**
 * Begins the delivery of at most one notification per pass: decides which platforms receive it, counts it toward the
 * cap, writes its text to the back field, and inserts a job per messaged platform. Completes jobs with nothing to push.
 * Locks the passes, so that no cancellation or other notification begins at the same time.
 */
async function startSending(
  tx: Repositories,
  workspaceId: string,
  jobs: Job[],
  at: Date,
): Promise<{ sendings: Sending[]; later: Job[] }> {
  const ids = jobs.map((job) => job.subject)
  const found = await tx.notifications.lock(workspaceId, ids)
  const first = new Map(found.toReversed().map((notification) => [notification.passId, notification]))
  const ours = new Map([...first.values()].map((notification) => [notification.id, notification]))
  const known = new Set(found.map(({ id }) => id))
  const later = jobs.filter(({ subject }) => known.has(subject) && !ours.has(subject))

  const fresh = [...ours.values()].filter(({ startedAt }) => startedAt === null)
  const changes = await decide(tx, workspaceId, fresh, at)
  await tx.notifications.update(workspaceId, changes, at)
  const shown = fresh.filter(({ id }) => isPending(changes.get(id)?.apple_status))
  await showOnApple(tx, workspaceId, shown, { jobs, at })
  await queueMessages(tx, jobs, changes, at)

  const sendings = jobs.flatMap((job) => {
    const notification = ours.get(job.subject)
    const state = changes.get(job.subject)?.apple_status ?? notification?.apple.status
    return notification && isPending(state) ? [{ job, notification }] : []
  })
  const open = new Set([...sendings.map(({ job }) => job), ...later])
  await tx.jobs.complete(jobs.filter((job) => !open.has(job)))
  return { sendings, later }
}

async function decide(
  tx: Repositories,
  workspaceId: string,
  notifications: StoredNotification[],
  at: Date,
): Promise<Map<string, NotificationChange>> {
  const changes = new Map<string, NotificationChange>()
  if (notifications.length === 0) return changes
  const passIds = notifications.map(({ passId }) => passId)
  const issued = await tx.passes.lockIssued(workspaceId, passIds, at)
  const holders = await tx.heldPasses.findInstalled(workspaceId, passIds)
  const places = await placesOf(tx, workspaceId, notifications)
  for (const notification of notifications) {
    const { id, passId } = notification
    const isIssued = issued.has(passId)
    const isWanted = (platform: Platform) => isIssued && isPending(notification[platform].status)
    const change: NotificationChange = { started_at: at.getTime() }
    for (const platform of platforms) {
      change[`${platform}_status`] = isWanted(platform) && holders[platform].includes(passId) ? 'PENDING' : 'SKIPPED'
    }
    if (isWanted(CAPPED_PLATFORM) && exceedsPassCap(notification, places.get(passId) ?? [])) {
      Object.assign(change, { [CAPPED_AT]: null, ...failed(CAPPED_PLATFORM, OVER_CAP) })
    }
    changes.set(id, change)
  }
  return changes
}

const OVER_CAP = `PASS_NOTIFICATION_RATE_LIMITED: the pass already has 3 ${CAPPED_PLATFORM} notifications within 24 hours, including SKIPPED ones`

function failed(platform: Platform, error: string): NotificationChange {
  return { [`${platform}_status`]: 'FAILED', [`${platform}_error`]: error }
}

async function placesOf(
  tx: Repositories,
  workspaceId: string,
  notifications: StoredNotification[],
): Promise<Map<string, Place[]>> {
  const due = notifications.flatMap(({ cappedAt }) => (cappedAt ? [cappedAt.getTime()] : []))
  if (due.length === 0) return new Map()
  const passIds = notifications.map(({ passId }) => passId)
  const [first, last] = [new Date(Math.min(...due)), new Date(Math.max(...due))]
  return groupBy(await tx.notifications.listPlaces(workspaceId, passIds, first, last), ({ passId }) => passId)
}

/**
 * Whether a notification of a broadcast exceeds the cap of its pass. If several notifications compete, the first one to
 * start is sent. False for single notifications, which were counted toward the cap when they were created.
 */
function exceedsPassCap({ id, broadcastId, cappedAt }: StoredNotification, places: Place[]): boolean {
  if (broadcastId === null) return false
  const others = places.filter((place) => place.isCertain && place.id !== id).map((place) => place.dueAt)
  return cappedAt !== null && exceedsCap(others, cappedAt)
}

/**
 * Stores the texts in passes, because Apple Wallet can only show them there. The other platforms deliver messages and
 * do not show this text, so they receive an update only if another change was pending.
 */
async function showOnApple(
  tx: Repositories,
  workspaceId: string,
  notifications: StoredNotification[],
  { jobs, at }: { jobs: Job[]; at: Date },
): Promise<void> {
  if (notifications.length === 0) return
  const passIds = notifications.map(({ passId }) => passId)
  const ids = notifications.map(({ id }) => id)
  await tx.passes.setMessages(workspaceId, passIds, ids, at)
  const outdated = await tx.heldPasses.keepCurrent(workspaceId, passIds)
  const causes = new Map(jobs.map((job) => [job.subject, job.correlationId]))
  const notificationOf = new Map(notifications.map(({ id, passId }) => [passId, id]))
  for (const platform of messagedPlatforms) {
    const updates = outdated[platform].map((subject) => ({
      workspaceId,
      kind: `update-${platform}` as const,
      subject,
      correlationId: causes.get(notificationOf.get(subject)!) ?? null,
      isBulk: jobs.some((job) => job.kind === 'send-broadcast-notification'),
    }))
    await tx.jobs.insertOnce(updates, at)
  }
}

/** Queues single messages and messages of broadcasts separately, so that single messages never wait for a broadcast. */
async function queueMessages(
  tx: Repositories,
  jobs: Job[],
  changes: Map<string, NotificationChange>,
  at: Date,
): Promise<void> {
  const queued = messagedPlatforms.flatMap((platform) =>
    jobs
      .filter(({ subject }) => isPending(changes.get(subject)?.[`${platform}_status`]))
      .map(({ workspaceId, kind, subject, correlationId }): NewJob => {
        const suffix = kind === 'send-notification' ? '' : '-broadcast'
        return { workspaceId, kind: `message-${platform}${suffix}`, subject, correlationId }
      }),
  )
  if (queued.length > 0) await tx.jobs.insert(queued, at)
}

function isPending(state: string | undefined): boolean {
  return state === 'PENDING'
}
