import type { ErrorCode } from '../../core/errors.ts'
import { MAX_SEND_ATTEMPTS } from '../../core/rules/sending/retries.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { NotificationChange } from '../../storage/messages/notifications-repository.ts'
import type { Repositories } from '../../storage/store.ts'
import { GoogleApiError } from '../../wallets/google/api/api-error.ts'
import type { CallOutcome } from '../identities/breakers.ts'
import { type DiscardedJob, isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { GoogleSync } from '../wallet-sync/google-sync.ts'
import {
  eachIdentity,
  type GoogleServices,
  googleOutcomeOf,
  logPlatformCall,
  toJobError,
} from '../wallet-sync/platform-calls.ts'
import { byClass, type Message, type Outcome, sendToClass } from './message-google-class.ts'

/**
 * Sends texts of notifications to Google. A message has the ID of its notification. From the second attempt on, the
 * server first checks whether Google has the message, so that a crash or a lost response never makes a phone ring
 * twice.
 */
export async function messageGoogle(jobs: Job[], services: GoogleServices, slot?: Slot): Promise<void> {
  const { workspaceId } = jobs[0]!
  const { store } = services
  const ids = jobs.map((job) => job.subject)
  const notifications = await store.notifications.listByIds(workspaceId, ids)
  const byId = new Map(notifications.map((notification) => [notification.id, notification]))
  const passIds = [...new Set(notifications.map(({ passId }) => passId))]
  const passes = new Map((await store.passes.listByIds(workspaceId, passIds)).map((pass) => [pass.id, pass]))
  const isOfClasses = notifications.some(({ isOfClass }) => isOfClass)
  const objects = isOfClasses ? await store.googleObjects.list(workspaceId, passIds) : []
  const places = new Map(objects.map(({ passId, sent }) => [passId, sent]))
  const messages = jobs.map((job) => {
    const notification = byId.get(job.subject)!
    const { passId, isOfClass } = notification
    return { job, notification, pass: passes.get(passId)!, place: (isOfClass && places.get(passId)) || null }
  })
  await eachIdentity(
    messages,
    ({ pass }) => pass.googleIdentityId,
    (some) => messageOf(workspaceId, some, services, slot),
  )
}

export async function failGoogleMessage(tx: Repositories, job: DiscardedJob, message: string, at: Date): Promise<void> {
  const change: NotificationChange = { google_status: 'FAILED', google_error: message }
  await tx.notifications.update(job.workspaceId, new Map([[job.subject, change]]), at)
}

async function messageOf(
  workspaceId: string,
  messages: Message[],
  services: GoogleServices,
  slot: Slot | undefined,
): Promise<void> {
  const { store, clock } = services
  const { classes, own } = byClass(messages)
  const sent = await Promise.all([
    ...own.map(async (message) => ({ messages: [message], ...(await send(message, services, slot)) })),
    ...classes.map((group) =>
      sendToClass(workspaceId, group, services, (message, call) => attempt(message, call, services, slot)),
    ),
  ])
  const outcomes = sent.flatMap((one) => one.messages.map(({ job }) => ({ job, change: one.change, error: one.error })))
  await store.transaction(async (tx) => {
    const at = clock()
    for (const one of sent) if ('note' in one) await one.note?.(tx)
    const done = new Map(outcomes.flatMap(({ job, change }) => (change ? [[job, change]] : [])))
    const ours = await tx.jobs.complete([...done.keys()])
    await tx.notifications.update(workspaceId, new Map(ours.map((job) => [job.subject, done.get(job)!])), at)
    for (const { job, change, error } of outcomes) if (!change) await nackFailed(tx, job, toJobError(error), at)
  })
}

/**
 * Jobs whose messages this process tried to send. `job.attempts` alone does not show this, because it stays the same if
 * a failed batch runs again.
 */
const tried = new WeakSet<Job>()

async function send(message: Message, services: GoogleServices, slot: Slot | undefined): Promise<Outcome> {
  const { job, notification, pass } = message
  const { id, body, options } = notification
  if (notification.google.status !== 'PENDING') return { change: {} }
  const mayBeThere = job.attempts > 1 || tried.has(job)
  tried.add(job)
  const isBulk = job.kind === 'message-google-broadcast'
  const written = { id, header: options.google?.header, body, mayBeThere, isBulk }
  return attempt(message, (google) => google.message(pass, written), services, slot)
}

async function attempt(
  { job, notification: { id }, pass }: Message,
  call: (google: GoogleSync) => Promise<void>,
  { google, log, breakers }: GoogleServices,
  slot: Slot | undefined,
): Promise<Outcome> {
  try {
    // `google` is undefined if Google is no longer configured. In that case, skip the message.
    const breaker = breakers.of('google', pass.googleIdentityId)
    if (google && breaker.admit().most === 0) throw notAnswered()
    if (google) await breaker.run(() => call(google), { outcomeOf, onHang: slot?.leave })
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

/**
 * Returns the error for a message whose identity is paused. The error counts as an attempt, so that the message fails
 * after several pauses instead of being sent too late.
 */
function notAnswered(): GoogleApiError {
  return new GoogleApiError({
    kind: 'unavailable',
    message: 'Google does not respond to requests with the identity of the pass.',
  })
}

/**
 * Returns the outcome of a call for the circuit breaker. If a pass has reached its cap, the identity has not failed,
 * because the platform responded.
 */
function outcomeOf(result: { value: unknown } | { error: unknown }): CallOutcome {
  return 'error' in result && isCap(result.error) ? 'answered' : googleOutcomeOf(result)
}

function codeOf(error: unknown): ErrorCode {
  return isCap(error) ? 'PASS_NOTIFICATION_RATE_LIMITED' : 'GOOGLE_API_FAILED'
}

/** Google's reasons for too many requests. Its other quota reasons mean too many messages to one pass. */
const paceReasons = new Set(['rateLimitExceeded', 'userRateLimitExceeded'])

/** Whether an error, regardless of its status, means that a pass has reached Google's cap of notifications. */
function isCap(error: unknown): boolean {
  if (!(error instanceof GoogleApiError)) return false
  return error.kind === 'quota' && error.status !== null && !paceReasons.has(error.reason ?? '')
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof GoogleApiError)) return true
  const { kind } = error
  return kind === 'unavailable' || kind === 'permission' || (kind === 'quota' && !isCap(error))
}
