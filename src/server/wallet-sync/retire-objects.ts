import { asFormer } from '../../storage/passes/former-passes.ts'
import { asKind } from '../../wallets/google/resource.ts'
import type { Services } from '../context.ts'

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
