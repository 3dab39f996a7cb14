import type { workspace as contract } from '../../../core/contract/workspace.ts'
import type { Handlers } from '../../http/mount.ts'

export const workspace: Handlers<typeof contract> = {
  get: async (_, { store, workspaceId, token, now, inFlight }) => {
    const { name, expiresAt, limits } = token.workspace
    const usage = { ...(await store.usage.read(workspaceId, now)), requestsInFlight: inFlight.count(workspaceId) }
    return { status: 200, body: { id: workspaceId, name, expiresAt: expiresAt?.toISOString() ?? null, limits, usage } }
  },
}
