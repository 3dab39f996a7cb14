import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route, scopes } from '../route.ts'
import { UtcTimestamp } from './common.ts'

/** The token of the request, without the token itself: who is asking, in which workspace, and what is allowed. */
const CurrentToken = z.strictObject({
  id: Uuid,
  name: z.string(),
  role: z.enum(['owner', 'member']),
  scopes: z.array(z.enum(scopes)),
  workspaceId: Uuid,
  workspaceName: z.string(),
  expiresAt: UtcTimestamp.nullable(),
})

export const tokens = {
  current: route({
    method: 'GET',
    path: '/v1/tokens/current',
    scope: null,
    summary: 'Read what the token of this request may do',
    responses: { 200: CurrentToken },
  }),
}
