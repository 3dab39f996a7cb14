import { randomUUID } from 'node:crypto'
import { Uuid } from '../../core/ids.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import type { Database } from '../../storage/db/database.ts'
import {
  erasedExternalId,
  flushDeleted,
  type Holdings,
  mergeSearchIndex,
  overwriteDeleted,
} from '../../storage/operations/erasure.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import { forgetClass } from '../api/passes/google-class.ts'
import { voidPasses } from '../api/passes/void-pass.ts'
import { queueWalletUpdates } from '../wallet-sync/wallet-updates.ts'
import { auditOperator, OperatorError } from './operator.ts'

/** What the erasure of one pass came to. */
export interface Erased {
  id: string
  /** Rows that held something. */
  erased: Holdings
  /** Whether it was not void before. */
  voided: boolean
  /** False where a file still holds remains that a server overwrites later. */
  overwritten: boolean
}

/** The pass that is to be erased, by its id or external id. @throws OperatorError where there is none */
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
  const hint = isExternal ? '' : '; --external names one by its externalPassId'
  throw new OperatorError(`There is no such pass in the workspace${hint}.`)
}

/**
 * Takes everything that tells of its holder out of a pass and of all that was kept about it, after making it void.
 * Counts and decisions stay. Running it again takes out what came since, such as a late report from a door.
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
  if (!pass) throw new OperatorError('There is no such pass.')
  const erased = await tx.erasure.count(workspaceId, passId)
  // Before the pass changes: who holds an image may wait for its name.
  await tx.images.deleteOfPass(workspaceId, passId)
  await tx.erasure.erase(workspaceId, passId, identifierDigest(pass.scanCode), at)
  const correlationId = randomUUID()
  await forgetClass(tx, pass, { now: at, correlationId })
  const voided = pass.status !== 'VOID'
  if (voided) {
    const renamed = { id: passId, externalPassId: erasedExternalId(passId) }
    await voidPasses(tx, workspaceId, [{ pass: renamed, reason: null, correlationId }], at)
  } else {
    await queueWalletUpdates(tx, workspaceId, [passId], { at, correlationId })
  }
  await auditOperator(tx, workspaceId, { action: 'pass.erase', targetId: passId }, at)
  return { id: passId, erased, voided, revision: pass.revision }
}
