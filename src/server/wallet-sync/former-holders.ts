import type { Card } from '../../core/rules/display/card.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { asKind, kindOf } from '../../wallets/google/resource.ts'
import type { Repositories, Services } from '../context.ts'

/**
 * What wallets of the former holder have is over; they are told. In the transaction of the transfer, which holds the pass.
 * @param pass as its former holder had it, with the card that it showed
 */
export async function endFormer(
  tx: Repositories,
  pass: StoredPass,
  { card, now, correlationId }: { card: Card; now: Date; correlationId: string | null },
): Promise<void> {
  const { workspaceId, id: subject, templateVersionId } = pass
  const isAtApple = await tx.formerPasses.insert(pass, now)
  const isAtGoogle = await tx.googleObjects.transfer(workspaceId, subject, { kind: kindOf(card), templateVersionId })
  if (isAtApple) await tx.jobs.insertOnce([{ workspaceId, kind: 'update-wallet', subject, correlationId }], now)
  if (isAtGoogle) await tx.jobs.insertOnce([{ workspaceId, kind: 'update-google', subject, correlationId }], now)
}

/** Expires the objects of former holders of a pass at Google, and takes off them what they say of anybody. */
export async function retireObjects(workspaceId: string, passId: string, services: Services): Promise<void> {
  const { store, wallets, google, issuing, clock } = services
  const objects = await store.googleObjects.listTransferred(workspaceId, passId)
  const pass = objects.length > 0 ? await store.passes.find(workspaceId, passId) : undefined
  if (!pass || !google || !wallets.google) return
  for (const { objectSuffix, kind, templateVersionId } of objects) {
    const rendered = await issuing.render(asFormer(pass, { templateVersionId }))
    const shown = asKind({ ...rendered, googleSuffix: objectSuffix }, kind)
    const { classId: _, ...object } = wallets.google.objectOf(shown, clock())
    await google.api.bulk.expireObject(kind, object)
    await store.statement((tx) => tx.googleObjects.setRetired(workspaceId, objectSuffix, clock()))
  }
}
