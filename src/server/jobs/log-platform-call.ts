import type { Job } from '../../storage/jobs.ts'
import type { Logger } from '../log.ts'

export interface PlatformCall {
  provider: 'apns' | 'google'
  passId: string
  outcome: 'sent' | 'failed'
}

/** What a platform was told of a pass, under the correlation id of whatever caused it. */
export function logPlatformCall(log: Logger, { correlationId, workspaceId, kind }: Job, call: PlatformCall): void {
  log.debug({ correlationId, ...call, workspaceId, kind }, 'platform told')
}
