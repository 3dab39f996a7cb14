import { randomUUID } from 'node:crypto'
import { Uuid } from '../../core/ids.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import type { Database } from '../../storage/db/database.ts'
import { flushDeleted, type Holdings, mergeSearchIndex, overwriteDeleted } from '../../storage/operations/erasure.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import { voidPasses } from '../api/passes/void-pass.ts'
import { forgetClass } from '../pass-content/shared-classes.ts'
import { queueWalletUpdates } from '../wallet-sync/holders.ts'
import { auditOperator, OperatorError } from './operator.ts'

export interface Erased {
  id: string
  erased: Holdings
  /** Whether the erasure voided the pass. False if the pass was void already. */
  voided: boolean
  /** Whether all deleted data was overwritten in the database file. If not, a server overwrites the rest later. */
  overwritten: boolean
}

/** @throws OperatorError if the pass is not found */
export async function getPassToErase(
  store: Store,
  workspaceId: string,
  { id, isExternal }: { id: string; isExternal: boolean },
): Promise<StoredPass> {
  const uuid = Uuid.safeParse(id)
  const pass = isExternal
    ? (await store.passes.listByExternalIds(workspaceId, [id]))[0]
    : uuid.success && (await store.passes.find(workspaceId, uuid.data))
  if (pass) return pass
  const hint = isExternal ? '' : '. To give an externalPassId, use --external'
  throw new OperatorError(`Pass not found in the workspace${hint}.`)
}

/**
 * Erases the data of a pass. Counts and decisions remain. A second run erases data that arrived after the first run,
 * such as a late report of a door.
 */
export async function erasePass(
  { store, database }: { store: Store; database: Database },
  workspaceId: string,
  passId: string,
  at: Date,
): Promise<Erased> {
  await overwriteDeleted(database)
  const { revision, ...done } = await store.transaction((tx) => eraseInside(tx, workspaceId, passId, at))
  await store.transaction((tx) => tx.erasure.forgetGates(workspaceId))
  if (revision > 1) await mergeSearchIndex(database)
  return { ...done, overwritten: await flushDeleted(database) }
}

async function eraseInside(tx: Repositories, workspaceId: string, passId: string, at: Date) {
  await tx.erasure.lockNotifications(workspaceId, passId)
  const pass = await tx.passes.findForUpdate(workspaceId, passId)
  if (!pass) throw new OperatorError('Pass not found.')
  const erased = await tx.erasure.count(workspaceId, passId)
  // Lock images before the pass changes. Otherwise, the erasure could deadlock with a transaction that has locked an
  // image and waits for the external ID of this pass.
  await tx.images.deleteOfPass(workspaceId, passId)
  await tx.erasure.erase(workspaceId, passId, identifierDigest(pass.scanCode), at)
  const correlationId = randomUUID()
  await forgetClass(tx, pass, { now: at, correlationId })
  const voided = pass.status !== 'VOID'
  if (voided) {
    const renamed = (await tx.passes.find(workspaceId, passId))!
    await voidPasses(tx, workspaceId, [{ pass: renamed, reason: null, correlationId }], at)
  } else {
    await queueWalletUpdates(tx, workspaceId, [passId], { at, correlationId })
  }
  await auditOperator(tx, workspaceId, { action: 'pass.erase', targetId: passId }, at)
  return { id: passId, erased, voided, revision: pass.revision }
}
