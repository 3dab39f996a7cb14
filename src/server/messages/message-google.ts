import type { ErrorCode } from '../../core/errors.ts'
import { MAX_SEND_ATTEMPTS } from '../../core/rules/sending/retries.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { StoredNotification } from '../../storage/messages/notification-row.ts'
import type { NotificationChange } from '../../storage/messages/notifications.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import { GoogleApiError } from '../../wallets/google/api/api-error.ts'
import type { Services } from '../context.ts'
import { isHeldBack, nackFailed, type SetAsideJob } from '../jobs/worker.ts'
import { logPlatformCall, toJobError } from '../wallet-sync/platform-calls.ts'

/**
 * Sends Google the texts of notifications. The id of the notification is the id of the message, and from the second run
 * on Google is asked whether it has it: a crash or a lost answer never makes a phone ring twice.
 */
export async function messageGoogle(jobs: Job[], services: Services): Promise<void> {
  for (const workspaceId of new Set(jobs.map((job) => job.workspaceId))) {
    const ours = jobs.filter((job) => job.workspaceId === workspaceId)
    await messageInWorkspace(workspaceId, ours, services)
  }
}

/** Notes on its notification that a message to Google was given up. */
export async function failGoogleMessage(tx: Repositories, job: SetAsideJob, message: string, at: Date): Promise<void> {
  const change: NotificationChange = { google_status: 'FAILED', google_error: message }
  await tx.notifications.update(job.workspaceId, new Map([[job.subject, change]]), at)
}

async function messageInWorkspace(workspaceId: string, jobs: Job[], services: Services): Promise<void> {
  const { store, clock } = services
  const notifications = await store.notifications.listByIds(
    workspaceId,
    jobs.map((job) => job.subject),
  )
  const byId = new Map(notifications.map((notification) => [notification.id, notification]))
  const passIds = [...new Set(notifications.map(({ passId }) => passId))]
  const passes = new Map((await store.passes.listByIds(workspaceId, passIds)).map((pass) => [pass.id, pass]))
  const outcomes = await Promise.all(
    jobs.map(async (job) => {
      const notification = byId.get(job.subject)!
      return { job, ...(await send(notification, passes.get(notification.passId)!, job, services)) }
    }),
  )
  await store.transaction(async (tx) => {
    const at = clock()
    const done = new Map(outcomes.flatMap(({ job, change }) => (change ? [[job, change]] : [])))
    const ours = await tx.jobs.complete([...done.keys()])
    await tx.notifications.update(workspaceId, new Map(ours.map((job) => [job.subject, done.get(job)!])), at)
    for (const { job, change, error } of outcomes) if (!change) await nackFailed(tx, job, toJobError(error), at)
  })
}

/** What to write of the notification; no change where it is to be tried again. */
interface Outcome {
  change?: NotificationChange
  error?: unknown
}

/** The worker runs the jobs of a batch that failed as a whole once more, each alone. */
const tried = new WeakSet<Job>()

async function send(
  { id, body, options, google: { status } }: StoredNotification,
  pass: StoredPass,
  job: Job,
  { google, log }: Services,
): Promise<Outcome> {
  if (status !== 'PENDING') return { change: {} }
  const mayBeThere = job.attempts > 1 || tried.has(job)
  tried.add(job)
  const isBulk = job.kind === 'message-google-broadcast'
  try {
    // A platform that is no longer configured reaches nobody.
    await google?.message(pass, { id, header: options.google?.header, body, mayBeThere, isBulk })
    if (google) logPlatformCall(log, job, { provider: 'google', passId: pass.id, outcome: 'sent' })
    return { change: { google_status: google ? 'SENT' : 'SKIPPED' } }
  } catch (cause) {
    if (!(cause instanceof GoogleApiError)) log.error({ err: cause, notificationId: id }, 'a message was not sent')
    const isLastTry = job.attempts >= MAX_SEND_ATTEMPTS && !isHeldBack(toJobError(cause))
    if (isPassing(cause) && !isLastTry) return { error: cause }
    const error = `${codeOf(cause)}: ${cause instanceof Error ? cause.message : String(cause)}`
    return { change: { google_status: 'FAILED', google_error: error } }
  }
}

function codeOf(error: unknown): ErrorCode {
  return isCap(error) ? 'PASS_NOTIFICATION_RATE_LIMITED' : 'GOOGLE_API_FAILED'
}

/** Too many requests from all of us together, as opposed to too many messages on one pass. */
const paceReasons = new Set(['rateLimitExceeded', 'userRateLimitExceeded'])

/** Google's own count of notifications, whichever status it answers with. */
function isCap(error: unknown): boolean {
  if (!(error instanceof GoogleApiError)) return false
  return error.kind === 'quota' && error.status !== null && !paceReasons.has(error.reason ?? '')
}

/** True for what may go by itself. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof GoogleApiError) || error.kind === 'unavailable') return true
  return error.kind === 'quota' && !isCap(error)
}
