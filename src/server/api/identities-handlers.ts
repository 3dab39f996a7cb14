import type { identities as contract, Identity } from '../../core/contract/identities.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import { toPage } from '../http/cursors.ts'
import type { Handlers } from '../http/mount.ts'

export const identities: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId, token }) => {
    const { limit, offset = 0 } = query
    // A token of some projects cannot see resources of the workspace.
    if (token.projectIds) {
      return { status: 200, body: { items: [], total: 0, limit, offset, nextCursor: null, hasMore: false } }
    }
    const page = await store.identities.list(workspaceId, query)
    return { status: 200, body: toPage({ ...page, rows: page.rows.map(showIdentity) }) }
  },
}

function showIdentity(identity: StoredIdentity): Identity {
  const { id, platform, name, passTypeIdentifier, teamIdentifier, issuerId, expiresAt, status } = identity
  const ends = expiresAt?.toISOString() ?? null
  return { id, platform, name, passTypeIdentifier, teamIdentifier, issuerId, expiresAt: ends, status }
}
