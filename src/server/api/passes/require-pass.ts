import { ApiError } from '../../../core/errors.ts'
import { grouped } from '../../../storage/db/grouped.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'

/** @throws ApiError PASS_NOT_FOUND */
export async function requirePass(passId: string, { store, workspaceId }: RequestContext): Promise<StoredPass> {
  const pass = await findTogether(store, { workspaceId, passId })
  if (!pass) throw noPass(passId)
  return pass
}

/** Finds a pass. Concurrent requests of a workspace share one query (decisions/0004). */
const findTogether = grouped(async (store: Store, take: () => { workspaceId: string; passId: string }[]) => {
  const requests = take()
  const ids = requests.map(({ passId }) => passId)
  const passes = await store.passes.listByIds(requests[0]!.workspaceId, ids)
  const found = new Map(passes.map((pass) => [pass.id, pass]))
  return ids.map((id) => found.get(id))
})

export function noPass(passId: string): ApiError {
  return new ApiError('PASS_NOT_FOUND', { details: { passId } })
}
