import { ApiError } from '../../../core/errors.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { Repositories, Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { queueWalletUpdates } from '../../wallet-sync/holders.ts'
import { auditEach } from '../audit.ts'
import { noPass } from './require-pass.ts'

export interface Voiding {
  pass: { id: string; externalPassId: string }
  reason: string | null
  correlationId: string
}

/** Voids passes, writes their events, and queues their wallet updates. The caller must have locked the passes. */
export async function voidPasses(tx: Repositories, workspaceId: string, voidings: Voiding[], at: Date): Promise<void> {
  if (voidings.length === 0) return
  const ids = voidings.map(({ pass }) => pass.id)
  await tx.passes.setVoid(workspaceId, ids, at)
  const correlationIds = new Map(voidings.map(({ pass, correlationId }) => [pass.id, correlationId]))
  const correlationIdOf = (passId: string) => correlationIds.get(passId) ?? null
  await queueWalletUpdates(tx, workspaceId, ids, { at, correlationId: correlationIdOf })
  const events = voidings.map(({ pass: { id, externalPassId }, reason, correlationId }) => ({
    type: 'pass.voided' as const,
    subject: id,
    data: { id, externalPassId, reason },
    correlationId,
  }))
  await tx.events.insert(workspaceId, events, at)
}

interface AskedVoid {
  passId: string
  reason: string | null
  context: RequestContext
}

/**
 * Voids a pass. Concurrent requests of a workspace share one transaction. Returns an error if the pass cannot be
 * voided.
 */
export const voidTogether = grouped(
  (store: Store, take: () => AskedVoid[]) =>
    store.transaction(async (tx) => {
      const requests = take()
      const { workspaceId } = requests[0]!.context
      const ids = requests.map(({ passId }) => passId)
      const [held] = await Promise.all([tx.passes.listForUpdate(workspaceId, ids), tx.events.expect(workspaceId)])
      const passes = new Map(held.map((pass) => [pass.id, pass]))
      const possible = requests.flatMap(({ passId, reason, context }) => {
        const pass = passes.get(passId)
        return pass && pass.status !== 'VOID' ? [{ pass, reason, context, correlationId: context.correlationId }] : []
      })
      // The same time for all passes is exact enough: the times of concurrent requests differ by milliseconds.
      const at = new Date(Math.max(...requests.map(({ context }) => context.now.getTime())))
      await voidPasses(tx, workspaceId, possible, at)
      const done = possible.map(({ pass, context }) => ({ context, targetId: pass.id }))
      await auditEach(tx, workspaceId, 'pass.void', done)
      return requests.map(({ passId }) => {
        const pass = passes.get(passId)
        if (!pass) return noPass(passId)
        return pass.status === 'VOID' ? new ApiError('PASS_ALREADY_VOIDED', { details: { passId } }) : undefined
      })
    }),
  { keyOf: ({ passId }) => passId },
)
