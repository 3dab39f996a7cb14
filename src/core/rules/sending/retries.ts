import type { DeliveryStatus, Envelope } from '../../contract/deliveries.ts'

/** How a delivery goes on after each attempt. The table of attempts is published: customers plan by it. */

const MINUTE = 60
const HOUR = 60 * MINUTE

/** Seconds between an automatic attempt that failed and the next one; after the last the delivery is FAILED. */
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

/** An attempt waits up to this share longer than the table says, so that those of one outage do not come all at once. */
const JITTER = 0.1

/** Without one success for so long, an endpoint is disabled. */
const MAX_FAILING_SECONDS = 5 * 24 * HOUR

/** How far a delivery has come. */
export interface DeliveryProgress {
  status: DeliveryStatus
  /** When the next attempt is due; null when there will be none. */
  dueAt: Date | null
  /** Attempts of the table that were made; redeliveries are none of them. */
  scheduledAttempts: number
  /** The attempt that is due was asked for by hand. */
  isRedelivery: boolean
  /** Where the table goes on after a redelivery; null where it has ended. */
  resumeAt: Date | null
  attemptCount: number
  lastResponseCode: number | null
  lastError: string | null
}

/** What came of one attempt; no error means that the endpoint took it. */
export interface Outcome {
  responseCode: number | null
  error: string | null
}

/** How one attempt ended. */
export interface AttemptFacts {
  outcome: Outcome
  /** When it ended. */
  at: Date
  /** From 0 to 1, by chance. */
  jitter: number
}

/**
 * The delivery after an attempt.
 * @param current as it stands now
 * @param sent as it stood when the attempt began: meanwhile it may have been redelivered, or ended with its endpoint
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

/** The delivery once it is asked for by hand: due now, whatever became of it before. */
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

/** When the automatic attempt after so many is due; null after the last. */
export function nextAttemptAt(scheduledAttempts: number, at: Date, jitter: number): Date | null {
  const seconds = RETRY_SECONDS[scheduledAttempts - 1]
  return seconds === undefined ? null : new Date(at.getTime() + Math.round(seconds * (1 + JITTER * jitter) * 1000))
}

/** An endpoint's state of health, and why it is to be disabled where it is. */
export interface Health {
  /** The first failure since the last success; null for a sound one. */
  failingSince: Date | null
  disabledReason?: string
}

/** The health of an endpoint after attempts, oldest first. */
export function healthAfter(failingSince: Date | null, attempts: readonly { outcome: Outcome; at: Date }[]): Health {
  const isSound = attempts.some(({ outcome }) => outcome.error === null)
  const since = isSound ? null : (failingSince ?? attempts[0]?.at ?? null)
  if (attempts.some(({ outcome }) => outcome.responseCode === GONE)) {
    return { failingSince: since, disabledReason: 'It answered 410 Gone.' }
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
 * What is sent to an endpoint, put together from parts that never change: every attempt sends the same bytes.
 * @param data the event's data as JSON, taken over as it stands
 */
export function envelopeText({ id, type, timestamp, correlationId }: Omit<Envelope, 'data'>, data: string): string {
  const head = JSON.stringify({ id, type, timestamp, correlationId })
  return `${head.slice(0, -1)},"data":${data}}`
}

/** Seconds until a job that failed for the n-th time runs again: 2, 4, 8 … up to 5 minutes. */
export function jobBackoffSeconds(attempts: number): number {
  return Math.min(2 ** Math.min(attempts, 9), 300)
}

/** After so many failed runs a job is set aside for an operator. */
export const MAX_JOB_ATTEMPTS = 20

/**
 * The number of leases that end while a worker holds a job, after which the job is quarantined: it stops workers. After the
 * first one, the job runs one at a time. A process that is killed for another reason always has some job in hand, but rarely
 * the same one again.
 */
export const MAX_JOB_LAPSES = 3

/** What is then said of it, and of the pass or notification that it was to care for. */
export const QUARANTINE_REASON = `The worker stopped or hung ${MAX_JOB_LAPSES} times while it ran this job.`

/** After so many runs, some four minutes, a notification that no provider takes has FAILED: it would come too late. */
export const MAX_SEND_ATTEMPTS = 8
