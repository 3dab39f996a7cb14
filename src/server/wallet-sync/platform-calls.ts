import type { Platform } from '../../core/contract/platform.ts'
import { ApiError, DiscardError, RescheduleError } from '../../core/errors.ts'
import { groupBy } from '../../core/group-by.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { OutdatedRegistration } from '../../storage/passes/registrations.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'

import type { JobServices, Services } from '../context.ts'
import { type CallOutcome, MAX_PAUSE_MS } from '../identities/breakers.ts'
import { allEnded } from '../jobs/all-ended.ts'
import { isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { Logger } from '../log.ts'

/** What jobs need that write to Google. */
export type GoogleServices = JobServices & Pick<Services, 'google' | 'breakers'>

/** What a failed call of Google means for the job that made it, in the words of jobs; anything else as it is. */
export function toJobError(error: unknown): unknown {
  if (!(error instanceof GoogleApiError)) return error
  const { message, kind, status, retryAfterSeconds } = error
  // An operator gives another key, and then it may succeed.
  if (!isPassing(error) && kind !== 'permission') return new DiscardError(message, { cause: error })
  // Our own pacing held it back: it never left.
  const countsAsAttempt = !(kind === 'quota' && status === null)
  return new RescheduleError(message, { retryAfterSeconds, countsAsAttempt, cause: error })
}

/** What the end of a call says of whether Google takes anything of the identity. */
export function googleOutcomeOf(result: { value: unknown } | { error: unknown }): CallOutcome {
  if (!('error' in result)) return 'answered'
  const { error } = result
  // What is kept of the identity cannot be used: an operator gives another key.
  if (error instanceof ApiError && error.code === 'GOOGLE_JWT_FAILED') return 'failed'
  if (!(error instanceof GoogleApiError)) return null
  const { kind, status } = error
  if (kind === 'quota') return status === null ? null : 'failed'
  return kind === 'unavailable' || kind === 'permission' ? 'failed' : 'answered'
}

/**
 * Does the work of each identity by itself: what hangs at one of them must not keep what the others have done.
 * @throws the first error of any, once all have ended
 */
export async function eachIdentity<T>(
  items: readonly T[],
  identityOf: (item: T) => string | null,
  work: (items: T[]) => Promise<void>,
): Promise<void> {
  await allEnded([...groupBy(items, identityOf).values()].map(work))
}

/** Does the jobs about passes of each identity of Apple by themselves, with the phones that they push. */
export function eachPushIdentity(
  jobs: Job[],
  outdated: OutdatedRegistration[],
  work: (jobs: Job[], outdated: OutdatedRegistration[]) => Promise<void>,
): Promise<void> {
  const identities = new Map(outdated.map(({ passId, appleIdentityId }) => [passId, appleIdentityId]))
  // Jobs with nothing to push come with the first.
  const [first = null] = identities.values()
  const identityOf = ({ subject }: Job) => identities.get(subject) ?? (identities.has(subject) ? null : first)
  return eachIdentity(jobs, identityOf, (some) => {
    const ours = new Set(some.map(({ subject }) => subject))
    return work(
      some,
      outdated.filter(({ passId }) => ours.has(passId)),
    )
  })
}

/**
 * Puts off jobs of one kind and workspace about passes of an identity whose platform does not answer it, and those that wait with
 * them: what others are to be told comes to its turn. No try is counted.
 */
async function holdBack(
  jobs: Job[],
  { until, ...identity }: { platform: Platform; identityId: string | null; until: Date },
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<void> {
  const { workspaceId, kind } = jobs[0]!
  await store.transaction(async (tx) => {
    await tx.jobs.snooze(jobs, until)
    // About classes, which say nothing of whose they are: each waits when it comes to its turn.
    if (kind === 'upsert-google-class') return
    await tx.backlog.holdBack(workspaceId, { kind, ...identity }, { at: clock(), until })
  })
}

/** Makes due what was put off for an identity of the database, up to 5,000 jobs of each queue; the rest comes within a minute. */
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
 * What the breaker of an identity of Apple lets through now of jobs about its passes: those, and what they push. The others are put
 * off; jobs that push nothing never are.
 * @param outdated phones of the passes, all of one identity
 */
export async function admitPushes(
  jobs: Job[],
  outdated: OutdatedRegistration[],
  services: Pick<Services, 'store' | 'clock' | 'breakers'>,
): Promise<{ jobs: Job[]; outdated: OutdatedRegistration[] }> {
  const [first] = outdated
  if (!first) return { jobs, outdated }
  const { appleIdentityId: identityId } = first
  const { most, until } = services.breakers.of('apple', identityId).admit()
  const passIds = new Set(outdated.map(({ passId }) => passId))
  const admitted = new Set([...passIds].slice(0, most))
  const isHeld = (passId: string) => passIds.has(passId) && !admitted.has(passId)
  const held = jobs.filter(({ subject }) => isHeld(subject))
  if (held.length > 0) await holdBack(held, { platform: 'apple', identityId, until }, services)
  return {
    jobs: jobs.filter(({ subject }) => !isHeld(subject)),
    outdated: outdated.filter(({ passId }) => admitted.has(passId)),
  }
}

/**
 * Makes a call of Google for one of its identities, unless that is paused: the job then waits, and what waits behind it. So it does
 * where the call shows that Google does not answer the identity, or refuses its key (decisions/0019).
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
 * Does jobs beside one another, so that none waits for another one's issuer: each is completed, is held back, or fails by itself.
 */
export async function eachJob(
  jobs: Job[],
  work: (job: Job) => Promise<'held' | 'done'>,
  { store, clock, log }: JobServices,
): Promise<void> {
  const doOne = async (job: Job) => {
    try {
      if ((await work(job)) === 'done') await store.statement((tx) => tx.jobs.complete([job]))
    } catch (cause) {
      const error = toJobError(cause)
      const { kind, subject, correlationId } = job
      if (!isHeldBack(error)) log.error({ err: error, kind, subject, correlationId }, 'a job failed')
      await store.transaction(async (tx) => {
        if ((await tx.jobs.lockHeld([job])).length > 0) await nackFailed(tx, job, error, clock())
      })
    }
  }
  await allEnded(jobs.map(doOne))
}

/** One call of a platform about a pass, and how it ended. */
export interface PlatformCall {
  provider: string
  passId: string
  outcome: 'sent' | 'failed'
}

/** What a platform was told of a pass, under the correlation id of whatever caused it. */
export function logPlatformCall(log: Logger, { correlationId, workspaceId, kind }: Job, call: PlatformCall): void {
  log.debug({ correlationId, ...call, workspaceId, kind }, 'platform told')
}
