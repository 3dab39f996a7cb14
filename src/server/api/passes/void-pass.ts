import type { Repositories } from '../../../storage/store.ts'
import { queueWalletUpdates } from '../../wallet-sync/wallet-updates.ts'

/** Makes a pass void with its event, and tells the wallets that hold it; the caller holds the pass. */
export async function voidPass(
  tx: Repositories,
  workspaceId: string,
  pass: { id: string; externalPassId: string },
  cause: { reason: string | null; at: Date; correlationId: string },
): Promise<void> {
  const { reason, at, correlationId } = cause
  await tx.passes.setVoid(workspaceId, pass.id, at)
  await queueWalletUpdates(tx, workspaceId, [pass.id], { at, correlationId })
  const data = { id: pass.id, externalPassId: pass.externalPassId, reason }
  await tx.events.insert(workspaceId, [{ type: 'pass.voided', subject: pass.id, data, correlationId }], at)
}
