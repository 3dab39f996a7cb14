import type { Job } from '../../storage/jobs/jobs.ts'
import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import type { Logger } from '../boot/log.ts'

export interface PlatformCall {
  provider: 'apns' | 'google'
  passId: string
  outcome: 'sent' | 'failed'
}

/** What a platform was told of a pass, under the correlation id of whatever caused it. */
export function logPlatformCall(log: Logger, { correlationId, workspaceId, kind }: Job, call: PlatformCall): void {
  log.debug({ correlationId, ...call, workspaceId, kind }, 'platform told')
}

/** Phones that hear of a pass no more, each with Apple's reason. Tokens and device ids are theirs, and not told. */
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
