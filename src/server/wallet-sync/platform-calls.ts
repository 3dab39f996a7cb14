import { DiscardError, RescheduleError } from '../../core/errors.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'
import type { Platform } from '../../wallets/wallet.ts'
import type { Logger } from '../boot/log.ts'
import type { Services } from '../context.ts'
import type { CallOutcome } from '../identities/breakers.ts'

/** What a failed call of Google means for the job that made it, in the words of jobs; anything else as it is. */
export function toJobError(error: unknown): unknown {
  if (!(error instanceof GoogleApiError)) return error
  const { message, kind, status, retryAfterSeconds } = error
  if (!isPassing(error)) return new DiscardError(message, { cause: error })
  // Our own pacing held it back: it never left.
  const countsAsAttempt = !(kind === 'quota' && status === null)
  return new RescheduleError(message, { retryAfterSeconds, countsAsAttempt, cause: error })
}

/** What the end of a call says of whether Google takes anything of the identity. */
export function googleOutcomeOf(result: { value: unknown } | { error: unknown }): CallOutcome {
  if (!('error' in result)) return 'answered'
  const { error } = result
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
  const groups = new Map<string | null, T[]>()
  for (const item of items) {
    const group = groups.get(identityOf(item))
    if (group) group.push(item)
    else groups.set(identityOf(item), [item])
  }
  const ends = await Promise.allSettled([...groups.values()].map(work))
  for (const end of ends) if (end.status === 'rejected') throw end.reason
}

/**
 * Puts off jobs of one kind and workspace about passes of an identity whose platform does not answer it, and those that wait with
 * them: what others are to be told comes to its turn. No try is counted.
 */
export async function holdBack(
  jobs: Job[],
  { until, ...identity }: { platform: Platform; identityId: string | null; until: Date },
  { store, clock }: Pick<Services, 'store' | 'clock'>,
): Promise<void> {
  const { workspaceId, kind } = jobs[0]!
  await store.transaction(async (tx) => {
    await tx.jobs.snooze(jobs, until)
    await tx.backlog.holdBack(workspaceId, { kind, ...identity }, { at: clock(), until })
  })
}

/** One call of a platform about a pass, and how it ended. */
export interface PlatformCall {
  provider: 'apns' | 'google'
  passId: string
  outcome: 'sent' | 'failed'
}

/** What a platform was told of a pass, under the correlation id of whatever caused it. */
export function logPlatformCall(log: Logger, { correlationId, workspaceId, kind }: Job, call: PlatformCall): void {
  log.debug({ correlationId, ...call, workspaceId, kind }, 'platform told')
}

/** Phones that are told of a pass no more, each with Apple's reason. Tokens and device ids are theirs, and not told. */
export function logDropped(
  log: Logger,
  dropped: DroppedRegistration[],
  results: Iterable<Pick<PushResult, 'pushToken' | 'reason'>>,
): void {
  const reasons = new Map([...results].map(({ pushToken, reason }) => [pushToken, reason]))
  for (const { workspaceId, passId, pushToken } of dropped) {
    log.warn({ workspaceId, passId, reason: reasons.get(pushToken) }, 'a device registration was dropped')
  }
}
