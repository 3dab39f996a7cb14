import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import { createLineLimit } from '../line-limit.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from './metrics.ts'

/** Notes registrations that Apple says are dead. */
export interface Drops {
  note(dropped: DroppedRegistration[], results: Iterable<Pick<PushResult, 'pushToken' | 'reason'>>): void
}

/**
 * Counts phones that are told of a pass no more, and logs some with Apple's reason: anybody may register who has a pass, with
 * tokens that are none. Tokens and device ids are theirs, and not told.
 */
export function createDrops({ log, metrics }: { log: Logger; metrics: Metrics }): Drops {
  const limit = createLineLimit((leftOut, workspaces) =>
    log.warn({ leftOut, workspaces }, `${leftOut} more device registrations were dropped`),
  )
  return {
    note(dropped, results) {
      if (dropped.length === 0) return
      metrics.drops.inc(dropped.length)
      const reasons = new Map([...results].map(({ pushToken, reason }) => [pushToken, reason]))
      for (const { workspaceId, passId, pushToken } of dropped) {
        if (!limit.admits(workspaceId)) continue
        log.warn({ workspaceId, passId, reason: reasons.get(pushToken) }, 'a device registration was dropped')
      }
    },
  }
}
