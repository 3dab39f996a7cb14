import type { GoogleKind } from '../../core/contract/definition.ts'
import type { Store } from '../../storage/store.ts'
import type { GoogleCalls } from '../../wallets/google/api/api.ts'
import type { GoogleResource } from '../../wallets/google/resource.ts'

/**
 * Makes or replaces a class, but for what broadcasts said to all of it (decisions/0013). That is looked up at Google only where there
 * was such a broadcast: each other class is as many requests as ever.
 * @throws GoogleApiError
 */
export async function upsertClass(
  { broadcastClasses }: Pick<Store, 'broadcastClasses'>,
  workspaceId: string,
  calls: GoogleCalls,
  kind: GoogleKind,
  resource: GoogleResource,
): Promise<void> {
  const suffix = resource.id.slice(resource.id.indexOf('.') + 1)
  const keepsMessages = await broadcastClasses.isTold(workspaceId, suffix)
  await calls.upsertClass(kind, resource, { keepsMessages })
}
