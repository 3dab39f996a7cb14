import { z } from 'zod'
import { effectiveStatus } from '../../core/rules/pass/pass-status.ts'
import type { StoredClass } from '../../storage/passes/google-classes.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import { type GoogleApiError, rejectionOf } from '../../wallets/google/api/api-error.ts'
import type { GooglePlace } from '../../wallets/google/resource.ts'
import { emitHoldings, queueWalletUpdates } from './holders.ts'
import { recordFailure } from './issuing.ts'

export interface SentObject {
  place: GooglePlace
  /** The class of the pass, as read before the send; undefined if the send did not update the class. */
  ofClass?: StoredClass
  digest: string
  /** A mark that identifies this send in the database; null for a new object. */
  mark: string | null
}

/** Records what Google received. If the pass has changed since `pass` was read, queues another update. */
export function recordSent(
  pass: StoredPass,
  { place, ofClass, digest, mark }: SentObject,
  { store, clock }: { store: Store; clock: () => Date },
): Promise<void> {
  const { workspaceId, id, templateVersionId, walletVersion } = pass
  return store.transaction(async (tx) => {
    const at = clock()
    const current = await tx.passes.findForUpdate(workspaceId, id)
    if (!current) return
    if (current.serialNumber !== pass.serialNumber) return recordTransferred(tx, pass, place, at)
    const sent = { ...place, templateVersionId, version: walletVersion, digest, mark }
    const isReplaced = await tx.googleObjects.setSent(workspaceId, id, sent, at)
    await tx.rejections.clear(workspaceId, 'google', id, templateVersionId)
    if (ofClass) await recordClassSent(tx, workspaceId, ofClass, at)
    if (current.walletVersion !== walletVersion)
      await queueWalletUpdates(tx, workspaceId, [id], { at, correlationId: null })
    if (isReplaced) await emitHoldings(tx, workspaceId, [id], { at, correlationId: null })
  })
}

/**
 * Records an object that was sent while its pass was transferred. The object belongs to the former holder, so this
 * queues its expiry.
 */
async function recordTransferred(tx: Repositories, pass: StoredPass, place: GooglePlace, at: Date): Promise<void> {
  const { workspaceId, id, templateVersionId } = pass
  await tx.googleObjects.insertTransferred(workspaceId, id, { ...place, templateVersionId })
  await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-google', subject: id, correlationId: null }], at)
}

/** Records a sent class. A class that changed in the meantime is sent again. */
export async function recordClassSent(
  tx: Repositories,
  workspaceId: string,
  { id, version }: StoredClass,
  at: Date,
): Promise<void> {
  const current = await tx.googleClasses.findForUpdate(workspaceId, id)
  if (!current) return
  await tx.googleClasses.setSent(workspaceId, id, version)
  await tx.rejections.clear(workspaceId, 'google', id)
  if (current.version === version) return
  const job = { workspaceId, kind: 'upsert-google-class' as const, subject: id, correlationId: null }
  await tx.jobs.insertOnce([job], at)
}

/** Records a permanent rejection of a pass. The pass fails if it has no other platform. */
export function recordRejection(
  pass: StoredPass,
  error: GoogleApiError,
  at: Date,
  { store, isOnlyPlatform = false }: { store: Store; isOnlyPlatform?: boolean },
): Promise<void> {
  const { workspaceId, id } = pass
  return store.transaction(async (tx) => {
    const current = await tx.passes.findForUpdate(workspaceId, id)
    if (current?.walletVersion !== pass.walletVersion) return
    const rejection = rejectionOf(error, at)
    await tx.rejections.insert(workspaceId, 'pass', id, rejection)
    if (!isOnlyPlatform || effectiveStatus(current, at) !== 'ISSUED') return
    await recordFailure(tx, current, { code: rejection.code, message: rejection.message }, { at, correlationId: null })
  })
}

const Rejection = z.object({ message: z.string(), at: z.string() })

export type KnownLocationRejections = ReturnType<typeof createLocationRejections>

/** Stores Google's rejections of locations in the database, so that all processes know them, even after a restart. */
export function createLocationRejections(store: Store, clock: () => Date) {
  const nameOf = (issuerId: string) => `google-locations-refused.${issuerId}`
  return {
    isRejected: async (issuerId: string) => (await store.settings.find(nameOf(issuerId))) !== undefined,
    async find(issuerId: string) {
      const value = await store.settings.find(nameOf(issuerId))
      return value === undefined ? undefined : Rejection.parse(JSON.parse(value))
    },
    async insert(issuerId: string, message: string): Promise<void> {
      const rejection = JSON.stringify({ message, at: clock().toISOString() })
      await store.transaction((tx) => tx.settings.insert(nameOf(issuerId), rejection))
    },
    /** Called when Google accepts locations of the issuer again. */
    clear: (issuerId: string) => store.transaction((tx) => tx.settings.delete(nameOf(issuerId))),
  }
}
