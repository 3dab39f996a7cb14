import type { tokens as contract } from '../../../core/contract/tokens.ts'
import type { Handlers } from '../../http/mount.ts'

export const tokens: Handlers<typeof contract> = {
  current: async (_, { token }) => ({
    status: 200,
    body: {
      id: token.id,
      name: token.name,
      role: token.role,
      scopes: token.scopes,
      workspaceId: token.workspaceId,
      workspaceName: token.workspace.name,
      expiresAt: token.expiresAt?.toISOString() ?? null,
    },
  }),
}
