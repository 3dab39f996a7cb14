import type { DeliveryStatus, Envelope } from '../../contract/webhooks/deliveries.ts'

/**
 * The retry table of deliveries, and the state of a delivery after each attempt. The documentation contains the table,
 * and customers rely on it.
 */

const MINUTE = 60
const HOUR = 60 * MINUTE

/**
 * The seconds between a failed automatic attempt and the next one. If the attempt after the last delay fails, the
 * delivery is FAILED.
 */
export const RETRY_SECONDS = [
  5,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** The maximum random extension of a delay, as a share of the delay. It spreads retries after an outage over time. */
const JITTER = 0.1

/** The time, in seconds, after which an endpoint is disabled if no attempt has succeeded. */
const MAX_FAILING_SECONDS = 5 * 24 * HOUR

export interface DeliveryProgress {
  status: DeliveryStatus
  /** The time of the next attempt, or `null` if no attempt follows. */
  dueAt: Date | null
  /** The number of attempts that followed the retry table. Redeliveries do not count. */
  scheduledAttempts: number
  /** Whether the next attempt was requested manually. */
  isRedelivery: boolean
  /** The time at which the retry table resumes after a redelivery, or `null` if the table has ended. */
  resumeAt: Date | null
  attemptCount: number
  lastResponseCode: number | null
  lastError: string | null
}

/** The result of one attempt. If there is no error, the endpoint accepted the delivery. */
export interface Outcome {
  responseCode: number | null
  error: string | null
}

export interface AttemptFacts {
  outcome: Outcome
  at: Date
  /** A random number from 0 to 1. */
  jitter: number
}

/**
 * Returns the state of a delivery after an attempt.
 * @param current the current state, which can differ from `sent`: during the attempt, a redelivery can have been
 * requested, or the delivery can have ended because its endpoint was disabled or deleted
 * @param sent the state at the start of the attempt
 */
export function afterAttempt(
  current: DeliveryProgress,
  sent: Pick<DeliveryProgress, 'dueAt' | 'isRedelivery'>,
  { outcome, at, jitter }: AttemptFacts,
): DeliveryProgress {
  const scheduledAttempts = current.scheduledAttempts + (sent.isRedelivery ? 0 : 1)
  const counted = {
    ...current,
    scheduledAttempts,
    attemptCount: current.attemptCount + 1,
    lastResponseCode: outcome.responseCode,
    lastError: outcome.error,
  }
  const next = sent.isRedelivery ? current.resumeAt : nextAttemptAt(scheduledAttempts, at, jitter)
  const isAskedAgain = current.status === 'PENDING' && current.dueAt?.getTime() !== sent.dueAt?.getTime()
  if (isAskedAgain) return { ...counted, resumeAt: outcome.error === null ? null : next }
  if (outcome.error === null) return { ...counted, ...ended('SUCCESS') }
  if (current.status !== 'PENDING') return counted
  return next ? { ...counted, dueAt: next, isRedelivery: false, resumeAt: null } : { ...counted, ...ended('FAILED') }
}

/** Returns the state of a delivery after a manual request: due now, regardless of its previous state. */
export function redelivered(current: DeliveryProgress, at: Date): DeliveryProgress {
  const planned = current.isRedelivery ? current.resumeAt : current.dueAt
  return {
    ...current,
    status: 'PENDING',
    dueAt: at,
    isRedelivery: true,
    resumeAt: current.status === 'PENDING' ? planned : null,
  }
}

/**
 * Returns the time of the next automatic attempt after the given number of attempts, or `null` if no attempts are left.
 */
export function nextAttemptAt(scheduledAttempts: number, at: Date, jitter: number): Date | null {
  const seconds = RETRY_SECONDS[scheduledAttempts - 1]
  return seconds === undefined ? null : new Date(at.getTime() + Math.round(seconds * (1 + JITTER * jitter) * 1000))
}

export interface Health {
  /** The time of the first failure since the last success, or `null` for a healthy endpoint. */
  failingSince: Date | null
  disabledReason?: string
}

/** @param attempts oldest first */
export function healthAfter(failingSince: Date | null, attempts: readonly { outcome: Outcome; at: Date }[]): Health {
  const isSound = attempts.some(({ outcome }) => outcome.error === null)
  const since = isSound ? null : (failingSince ?? attempts[0]?.at ?? null)
  if (attempts.some(({ outcome }) => outcome.responseCode === GONE)) {
    return { failingSince: since, disabledReason: 'The endpoint returned 410 Gone.' }
  }
  const latest = attempts.at(-1)?.at
  if (since && latest && latest.getTime() - since.getTime() >= MAX_FAILING_SECONDS * 1000) {
    return { failingSince: since, disabledReason: 'No attempt succeeded for 5 days.' }
  }
  return { failingSince: since }
}

const GONE = 410

function ended(status: 'SUCCESS' | 'FAILED') {
  return { status, dueAt: null, isRedelivery: false, resumeAt: null }
}

/**
 * Returns the body of a delivery, the same bytes in every attempt.
 * @param data JSON, which is inserted unchanged
 */
export function envelopeText({ id, type, timestamp, correlationId }: Omit<Envelope, 'data'>, data: string): string {
  const head = JSON.stringify({ id, type, timestamp, correlationId })
  return `${head.slice(0, -1)},"data":${data}}`
}

/** Returns the delay, in seconds, until the next run of a job after its n-th failure: 2, 4, 8 … up to 5 minutes. */
export function jobBackoffSeconds(attempts: number): number {
  return Math.min(2 ** Math.min(attempts, 9), 300)
}

/** The number of failed runs after which a job is discarded. */
export const MAX_JOB_ATTEMPTS = 20

/**
 * The number of expired leases after which a job is quarantined, because the job probably crashes its workers. After
 * its first expired lease, a job moves to the quarantine queue, which runs one job at a time. A lease also expires if
 * its worker is killed for another reason, but this rarely happens to the same job four times.
 */
export const MAX_JOB_LAPSES = 4

/** The error message of a quarantined job and of its pass or notification. */
export const QUARANTINE_REASON = `The worker stopped or hung ${MAX_JOB_LAPSES} times while it ran this job.`

/**
 * The number of runs, in about four minutes, after which a notification is FAILED: a later delivery would be outdated.
 */
export const MAX_SEND_ATTEMPTS = 8
