import { ApiError } from '../../../core/errors.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { Repositories, Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { queueWalletUpdates } from '../../wallet-sync/wallet-updates.ts'
import { auditEach } from '../audit.ts'

/** A pass that is to be void, and what its event tells. */
export interface Voiding {
  pass: { id: string; externalPassId: string }
  reason: string | null
  correlationId: string
}

/** Makes passes void with their events, and tells the wallets that hold them; the caller holds the passes. */
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

/** A request to make a pass void. */
interface AskedVoid {
  passId: string
  reason: string | null
  context: RequestContext
}

/** Makes a pass void, together with others of the workspace that are asked for at the same moment; or says why not. */
export const voidTogether = grouped(
  (store: Store, take: () => AskedVoid[]) =>
    store.transaction(async (tx) => {
      const asked = take()
      const { workspaceId } = asked[0]!.context
      const ids = asked.map(({ passId }) => passId)
      const [held] = await Promise.all([tx.passes.listForUpdate(workspaceId, ids), tx.events.expect(workspaceId)])
      const passes = new Map(held.map((pass) => [pass.id, pass]))
      const possible = asked.flatMap(({ passId, reason, context }) => {
        const pass = passes.get(passId)
        return pass && pass.status !== 'VOID' ? [{ pass, reason, context, correlationId: context.correlationId }] : []
      })
      // One moment for all: those of a set differ by milliseconds.
      const at = new Date(Math.max(...asked.map(({ context }) => context.now.getTime())))
      await voidPasses(tx, workspaceId, possible, at)
      const done = possible.map(({ pass, context }) => ({ context, targetId: pass.id }))
      await auditEach(tx, workspaceId, 'pass.void', done)
      return asked.map(({ passId }) => {
        const pass = passes.get(passId)
        if (!pass) return new ApiError('PASS_NOT_FOUND', { details: { passId } })
        return pass.status === 'VOID' ? new ApiError('PASS_ALREADY_VOIDED', { details: { passId } }) : undefined
      })
    }),
  { keyOf: ({ passId }) => passId },
)
