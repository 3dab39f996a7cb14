import type { Repositories } from '../../../storage/store.ts'
import { queueWalletUpdates } from '../../wallet-sync/wallet-updates.ts'

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
