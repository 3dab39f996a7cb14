import { jobBackoffSeconds, MAX_SEND_ATTEMPTS } from '../../core/rules/sending/retry.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { NotificationChange } from '../../storage/messages/notifications.ts'
import type { DroppedRegistration, Registration } from '../../storage/passes/registrations.ts'
import type { Repositories } from '../../storage/store.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import type { Services } from '../context.ts'
import { logDropped, logPlatformCall } from '../jobs/log-platform-call.ts'
import type { SetAsideJob } from '../jobs/worker.ts'
import { type Sending, startSending } from './start-sending.ts'

/**
 * Delivers notifications, single ones and those of broadcasts: decides what applies, puts the text into the back field of
 * the pass and pushes its phones. What Google is sent is left to a job of its own, so that neither platform waits for
 * the other.
 */
export async function sendNotifications(jobs: Job[], services: Services): Promise<void> {
  for (const workspaceId of new Set(jobs.map((job) => job.workspaceId))) {
    let waiting = jobs.filter((job) => job.workspaceId === workspaceId)
    while (waiting.length > 0) waiting = await sendSome(workspaceId, waiting, services)
  }
}

/** What no provider took in all that time has failed. */
export async function failNotification(tx: Repositories, job: SetAsideJob, message: string, at: Date): Promise<void> {
  const [notification] = await tx.notifications.lock(job.workspaceId, [job.subject])
  if (!notification) return
  const { apple, google, startedAt } = notification
  const isGoogleLeft = google.status === 'PENDING' && startedAt === null
  const change: NotificationChange = {
    ...(startedAt === null && { started_at: at.getTime() }),
    ...(apple.status === 'PENDING' && { apple_status: 'FAILED', apple_error: message }),
    ...(isGoogleLeft && { google_status: 'FAILED', google_error: message }),
  }
  await tx.notifications.update(job.workspaceId, new Map([[job.subject, change]]), at)
}

/** Returns the jobs that are still to be done: a pass shows one text at a time. */
async function sendSome(workspaceId: string, jobs: Job[], services: Services): Promise<Job[]> {
  const { store, clock } = services
  const { sendings, later } = await store.transaction((tx) => startSending(tx, workspaceId, jobs, clock()))
  if (sendings.length > 0) await push(workspaceId, sendings, services)
  return later
}

async function push(workspaceId: string, sendings: Sending[], services: Services): Promise<void> {
  const { store, push: apple, clock, log } = services
  const passIds = sendings.map(({ notification }) => notification.passId)
  // Announced before the push, so that a phone that asks at once is told.
  await store.transaction((tx) => tx.registrations.bumpUpdateTag(workspaceId, passIds))
  const registrations = apple ? await store.registrations.list(workspaceId, passIds) : []
  const versions = new Map(
    (await store.passes.listByIds(workspaceId, passIds)).map(({ id, walletVersion }) => [id, walletVersion]),
  )
  const tokens = [...new Set(registrations.map(({ pushToken }) => pushToken))]
  const results = new Map((await apple?.send(tokens))?.map((result) => [result.pushToken, result]))
  const dropped = await store.transaction(async (tx) => {
    const at = clock()
    const held = new Set(await tx.jobs.lockHeld(sendings.map(({ job }) => job)))
    const ours = sendings.filter(({ job }) => held.has(job))
    const byPass = new Map<string, Outcome[]>(ours.map(({ notification }) => [notification.passId, []]))
    for (const registration of registrations) {
      const result = results.get(registration.pushToken) ?? NO_ANSWER
      const version = versions.get(registration.passId)!
      byPass.get(registration.passId)?.push({ ...registration, result, version })
    }
    const dropped = await recordPushes(tx, workspaceId, [...byPass.values()].flat(), at)
    await settle(tx, workspaceId, ours, byPass, at)
    return dropped
  })
  logDropped(log, dropped, results.values())
  const reached = new Map(registrations.map(({ passId, pushToken }) => [passId, results.get(pushToken)?.outcome]))
  for (const { job, notification } of sendings) {
    const outcome = reached.get(notification.passId) === 'sent' ? 'sent' : 'failed'
    if (reached.has(notification.passId)) {
      logPlatformCall(log, job, { provider: 'apns', passId: notification.passId, outcome })
    }
  }
}

const NO_ANSWER = { outcome: 'failed', reason: 'no answer' } as const

interface Outcome extends Registration {
  result: Pick<PushResult, 'outcome' | 'reason'>
  version: number
}

/** Returns the registrations that went. */
async function recordPushes(
  tx: Repositories,
  workspaceId: string,
  outcomes: Outcome[],
  at: Date,
): Promise<DroppedRegistration[]> {
  const gone = outcomes.filter(({ result }) => result.outcome === 'gone')
  const dropped = await tx.registrations.deleteByTokens(gone.map(({ pushToken }) => pushToken))
  const sent = outcomes.filter(({ result }) => result.outcome === 'sent')
  await tx.registrations.setPushed(workspaceId, sent, at)
  const failed = outcomes.filter(({ result }) => result.outcome === 'failed')
  for (const reason of new Set(failed.map(({ result }) => result.reason))) {
    const some = failed.filter(({ result }) => result.reason === reason)
    await tx.registrations.setErrors(workspaceId, some, `APPLE_APNS_FAILED: ${reason}`)
  }
  return dropped
}

async function settle(
  tx: Repositories,
  workspaceId: string,
  sendings: Sending[],
  byPass: Map<string, Outcome[]>,
  at: Date,
): Promise<void> {
  const changes = new Map<string, NotificationChange>()
  const stragglers: Job[] = []
  for (const { job, notification } of sendings) {
    const outcomes = byPass.get(notification.passId)!
    const sent = outcomes.filter(({ result }) => result.outcome === 'sent').length
    const failed = outcomes.find(({ result }) => result.outcome === 'failed')
    const error = `APPLE_APNS_FAILED: ${failed?.result.reason}`
    if (sent > 0) {
      changes.set(notification.id, { apple_status: 'SENT', device_count: sent })
      if (failed) stragglers.push({ ...job, subject: notification.passId })
    } else if (!failed) {
      // Nobody holds the pass any more.
      changes.set(notification.id, { apple_status: 'SKIPPED' })
    } else if (job.attempts >= MAX_SEND_ATTEMPTS) {
      changes.set(notification.id, { apple_status: 'FAILED', apple_error: error })
    } else {
      await tx.jobs.retry([job], new Date(at.getTime() + jobBackoffSeconds(job.attempts) * 1000), error)
    }
  }
  await tx.notifications.update(workspaceId, changes, at)
  await tx.jobs.complete(sendings.flatMap(({ job }) => (changes.has(job.subject) ? [job] : [])))
  // Phones that were not reached look as soon as they can be told that the pass changed.
  const updates = stragglers.map(({ kind, subject, correlationId }) => ({
    workspaceId,
    subject,
    correlationId,
    isBulk: kind === 'send-broadcast',
  }))
  await tx.jobs.insertOnce(
    updates.map((update) => ({ ...update, kind: 'update-wallet' })),
    at,
  )
}
