import { DiscardError, RescheduleError } from '../../core/errors.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'
import type { Logger } from '../boot/log.ts'

/** What a failed call of Google means for the job that made it, in the words of jobs; anything else as it is. */
export function toJobError(error: unknown): unknown {
  if (!(error instanceof GoogleApiError)) return error
  const { message, kind, status, retryAfterSeconds } = error
  if (!isPassing(error)) return new DiscardError(message, { cause: error })
  // Our own pacing held it back: it never left.
  const countsAsAttempt = !(kind === 'quota' && status === null)
  return new RescheduleError(message, { retryAfterSeconds, countsAsAttempt, cause: error })
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
