import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import { createLineLimit } from '../line-limit.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from './metrics.ts'

/** Records registrations that Apple reports as dead. */
export interface DroppedRegistrations {
  note(dropped: DroppedRegistration[], results: Iterable<Pick<PushResult, 'pushToken' | 'reason'>>): void
}

/**
 * Creates a record that counts dropped registrations and logs some of them with Apple's reason: any holder of a pass
 * can register invalid tokens. Tokens and device IDs are not logged.
 */
export function createDroppedRegistrations({ log, metrics }: { log: Logger; metrics: Metrics }): DroppedRegistrations {
  const limit = createLineLimit((leftOut, workspaces) =>
    log.warn({ leftOut, workspaces }, `${leftOut} more device registrations were dropped`),
  )
  return {
    note(dropped, results) {
      if (dropped.length === 0) return
      metrics.droppedRegistrations.inc(dropped.length)
      const reasons = new Map([...results].map(({ pushToken, reason }) => [pushToken, reason]))
      for (const { workspaceId, passId, pushToken } of dropped) {
        if (!limit.admits(workspaceId)) continue
        log.warn({ workspaceId, passId, reason: reasons.get(pushToken) }, 'a device registration was dropped')
      }
    },
  }
}
