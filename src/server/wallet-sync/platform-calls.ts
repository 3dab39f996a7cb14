import type { Platform } from '../../core/contract/schemas/platform.ts'
import { ApiError, DiscardError, RescheduleError } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'
import type { JobServices, Repositories, Services } from '../context.ts'
import { type CallOutcome, MAX_PAUSE_MS } from '../identities/breakers.ts'
import { allEnded } from '../jobs/all-ended.ts'
import { isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { Logger } from '../log.ts'

export type GoogleServices = JobServices & Pick<Services, 'google' | 'breakers'>

/** Converts an error of Google to a RescheduleError or a DiscardError. Returns other errors unchanged. */
export function toJobError(error: unknown): unknown {
  if (!(error instanceof GoogleApiError)) return error
  const { message, kind, status, retryAfterSeconds } = error
  // Retry a permission error, because an operator can fix it with another key.
  if (!isPassing(error) && kind !== 'permission') return new DiscardError(message, { cause: error })
  // A quota error without a status comes from this server's own rate limit. The request was not sent, so do not count
  // it as an attempt.
  const countsAsAttempt = !(kind === 'quota' && status === null)
  return new RescheduleError(message, { retryAfterSeconds, countsAsAttempt, cause: error })
}

export function googleOutcomeOf(result: { value: unknown } | { error: unknown }): CallOutcome {
  if (!('error' in result)) return 'answered'
  const { error } = result
  // Count unusable secrets as a failure, so that the identity is paused until an operator renews the secrets.
  if (error instanceof ApiError && error.code === 'GOOGLE_JWT_FAILED') return 'failed'
  if (!(error instanceof GoogleApiError)) return null
  const { kind, status } = error
  if (kind === 'quota') return status === null ? null : 'failed'
  return kind === 'unavailable' || kind === 'permission' ? 'failed' : 'answered'
}

/**
 * Runs the work of each identity separately: if one identity hangs, the results of the others are not delayed.
 * @throws the first error, after all have ended
 */
export async function eachIdentity<T>(
  items: readonly T[],
  identityOf: (item: T) => string | null,
  work: (items: T[]) => Promise<void>,
): Promise<void> {
  await allEnded([...groupBy(items, identityOf).values()].map(work))
}

/**
 * Snoozes jobs of a paused identity without counting an attempt. Also snoozes the identity's other due jobs of the same
 * kind and workspace, up to 5,000 per priority.
 */
export async function holdBack(
  jobs: Job[],
  { until, ...identity }: { platform: Platform; identityId: string | null; until: Date },
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<void> {
  const { workspaceId, kind } = jobs[0]!
  await store.transaction(async (tx) => {
    await tx.jobs.snooze(jobs, until)
    // Other jobs about classes do not name the identity, so each of them is snoozed only when it runs.
    if (kind === 'upsert-google-class') return
    await tx.backlog.holdBack(workspaceId, { kind, ...identity }, { at: clock(), until })
  })
}

/** Makes snoozed jobs of an identity due, up to 5,000 per workspace, kind, and priority. Others run within a minute. */
export async function releaseHeld(
  { platform, id: identityId }: { platform: Platform; id: string },
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<void> {
  const at = clock()
  const until = new Date(at.getTime() + MAX_PAUSE_MS)
  for (const workspaceId of await store.identities.listWorkspaces(identityId)) {
    for (const kind of [`update-${platform}`, `expire-${platform}`] as const) {
      await store.statement((tx) => tx.backlog.bringForward(workspaceId, { kind, platform, identityId }, { at, until }))
    }
  }
}

/**
 * Calls Google for one identity. If the identity is paused, or the call pauses it (Google does not respond, or rejects
 * the key), snoozes the job and the waiting jobs of the identity (decisions/0019).
 */
export async function callGoogle(
  job: Job,
  { identityId, call, slot }: { identityId: string | null; call: () => Promise<unknown>; slot: Slot | undefined },
  services: Pick<Services, 'store' | 'clock' | 'breakers'>,
): Promise<'held' | 'done'> {
  const breaker = services.breakers.of('google', identityId)
  const hold = async (until: Date) => {
    await holdBack([job], { platform: 'google', identityId, until }, services)
    return 'held' as const
  }
  const { most, until } = breaker.admit()
  if (most === 0) return hold(until)
  try {
    await breaker.run(call, { outcomeOf: googleOutcomeOf, onHang: slot?.leave })
    return 'done'
  } catch (error) {
    const pausedUntil = breaker.pausedUntil()
    if (pausedUntil && googleOutcomeOf({ error }) === 'failed') return hold(pausedUntil)
    throw error
  }
}

/**
 * Runs jobs concurrently, so that no job waits for the issuer of another job. Each job completes, is snoozed, or fails
 * separately.
 * @param onError handles a failed job that this worker still holds. Default: logs the error, and retries or discards
 * the job
 */
export async function eachJob(
  jobs: Job[],
  work: (job: Job) => Promise<'held' | 'done'>,
  { store, clock, log }: JobServices,
  onError?: (tx: Repositories, job: Job, cause: unknown, at: Date) => Promise<void>,
): Promise<void> {
  const runJob = async (job: Job) => {
    try {
      if ((await work(job)) === 'done') await store.statement((tx) => tx.jobs.complete([job]))
    } catch (cause) {
      const error = toJobError(cause)
      const { kind, subject, correlationId } = job
      if (!onError && !isHeldBack(error)) log.error({ err: error, kind, subject, correlationId }, 'a job failed')
      await store.transaction(async (tx) => {
        if ((await tx.jobs.lockHeld([job])).length === 0) return
        if (onError) await onError(tx, job, cause, clock())
        else await nackFailed(tx, job, error, clock())
      })
    }
  }
  await allEnded(jobs.map(runJob))
}

interface PlatformCall {
  provider: string
  passId: string
  outcome: 'sent' | 'failed'
}

export function logPlatformCall(log: Logger, { correlationId, workspaceId, kind }: Job, call: PlatformCall): void {
  log.debug({ correlationId, ...call, workspaceId, kind }, 'platform notified')
}
