import type { GoogleKind } from '../../core/contract/definition.ts'
import type { Store } from '../../storage/store.ts'
import type { GoogleCalls } from '../../wallets/google/api/google-api.ts'
import type { GoogleResource } from '../../wallets/google/resource.ts'

/**
 * Creates or replaces a class, and keeps the messages of broadcasts to it (decisions/0013). Only classes with such a
 * broadcast need an additional request to read them.
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
