import { exceedsCap } from '../../core/rules/sending/google-cap.ts'
import type { JobKind } from '../../storage/jobs/job-kinds.ts'
import type { Job, NewJob } from '../../storage/jobs/jobs.ts'
import type { StoredNotification } from '../../storage/messages/notification-row.ts'
import type { NotificationChange, Place } from '../../storage/messages/notifications.ts'
import type { Repositories } from '../../storage/store.ts'

/** A notification whose phones are to be pushed. */
export interface Sending {
  job: Job
  notification: StoredNotification
}

/** What Google is sent is paced: single messages never stand in line behind those of a broadcast. */
const googleJobs: Partial<Record<JobKind, JobKind>> = {
  'send-notification': 'message-google',
  'send-broadcast': 'message-google-broadcast',
}

/**
 * Begins the delivery of notifications, one for each pass: decides for each platform whether it applies, counts it under
 * the google cap, puts the text in the back field, and leaves a job for Google. Whatever has nothing to push is done.
 * Passes are held, so that neither a cancellation nor another notification comes in between.
 */
export async function startSending(
  tx: Repositories,
  workspaceId: string,
  jobs: Job[],
  at: Date,
): Promise<{ sendings: Sending[]; later: Job[] }> {
  const found = await tx.notifications.lock(
    workspaceId,
    jobs.map((job) => job.subject),
  )
  const first = new Map(found.toReversed().map((notification) => [notification.passId, notification]))
  const ours = new Map([...first.values()].map((notification) => [notification.id, notification]))
  const known = new Set(found.map(({ id }) => id))
  const later = jobs.filter(({ subject }) => known.has(subject) && !ours.has(subject))

  const fresh = [...ours.values()].filter(({ startedAt }) => startedAt === null)
  const changes = await decide(tx, workspaceId, fresh, at)
  await tx.notifications.update(workspaceId, changes, at)
  await showOnApple(
    tx,
    workspaceId,
    fresh.filter(({ id }) => isPending(changes.get(id)?.apple_status)),
    { jobs, at },
  )
  await queueGoogle(tx, jobs, (id) => isPending(changes.get(id)?.google_status), at)

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
  const registered = new Set((await tx.registrations.list(workspaceId, passIds)).map(({ passId }) => passId))
  const objects = await tx.googleObjects.list(workspaceId, passIds)
  const installed = new Set(objects.flatMap(({ passId, installedAt }) => (installedAt ? [passId] : [])))
  const places = await placesOf(tx, workspaceId, notifications)
  for (const notification of notifications) {
    const { id, passId, apple, google } = notification
    const isIssued = issued.has(passId)
    const isOverCap = isIssued && google.status === 'PENDING' && isCrowded(notification, places.get(passId) ?? [])
    const googleState = isIssued && isPending(google.status) && installed.has(passId) ? 'PENDING' : 'SKIPPED'
    changes.set(id, {
      started_at: at.getTime(),
      apple_status: isIssued && isPending(apple.status) && registered.has(passId) ? 'PENDING' : 'SKIPPED',
      google_status: isOverCap ? 'FAILED' : googleState,
      ...(isOverCap && { google_due_at: null, google_error: OVER_CAP }),
    })
  }
  return changes
}

const OVER_CAP = 'PASS_NOTIFICATION_RATE_LIMITED: the pass has its 3 google notifications of 24 hours'

async function placesOf(
  tx: Repositories,
  workspaceId: string,
  notifications: StoredNotification[],
): Promise<Map<string, Place[]>> {
  const due = notifications.flatMap(({ googleDueAt }) => (googleDueAt ? [googleDueAt.getTime()] : []))
  const byPass = new Map<string, Place[]>()
  if (due.length === 0) return byPass
  const passIds = notifications.map(({ passId }) => passId)
  const [first, last] = [new Date(Math.min(...due)), new Date(Math.max(...due))]
  for (const place of await tx.notifications.listPlaces(workspaceId, passIds, first, last)) {
    byPass.set(place.passId, [...(byPass.get(place.passId) ?? []), place])
  }
  return byPass
}

/** Of those that still have to be decided, whichever comes first gets the place. */
function isCrowded({ id, googleDueAt }: StoredNotification, places: Place[]): boolean {
  const others = places.filter((place) => place.isCertain && place.id !== id).map((place) => place.dueAt)
  return googleDueAt !== null && exceedsCap(others, googleDueAt)
}

/** The pass changes. What google shows of it does not, unless another change is still on its way there. */
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
  const outdated = await tx.googleObjects.keepCurrent(workspaceId, passIds)
  const causes = new Map(jobs.map((job) => [job.subject, job.correlationId]))
  const notificationOf = new Map(notifications.map(({ id, passId }) => [passId, id]))
  const updates = outdated.map((subject) => ({
    workspaceId,
    kind: 'update-google' as const,
    subject,
    correlationId: causes.get(notificationOf.get(subject)!) ?? null,
    isBulk: jobs.some((job) => job.kind === 'send-broadcast'),
  }))
  await tx.jobs.insertOnce(updates, at)
}

async function queueGoogle(tx: Repositories, jobs: Job[], isWanted: (id: string) => boolean, at: Date): Promise<void> {
  const queued = jobs
    .filter(({ subject }) => isWanted(subject))
    .map(
      ({ workspaceId, kind, subject, correlationId }): NewJob => ({
        workspaceId,
        kind: googleJobs[kind]!,
        subject,
        correlationId,
      }),
    )
  if (queued.length > 0) await tx.jobs.insert(queued, at)
}

function isPending(state: string | undefined): boolean {
  return state === 'PENDING'
}
