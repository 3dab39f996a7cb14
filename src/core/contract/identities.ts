import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { pageOf, UtcTimestamp } from './common.ts'
import { listQuery } from './list.ts'
import { Platform } from './platform.ts'

/** An Apple signer or a Google issuer, without its key. */
export const Identity = z.strictObject({
  id: Uuid,
  platform: Platform,
  name: z.string().describe('Unique on the server.'),
  passTypeIdentifier: z.string().nullable().describe('Of Apple; null of Google.'),
  teamIdentifier: z.string().nullable().describe('Of Apple; null of Google.'),
  issuerId: z.string().nullable().describe('Of Google; null of Apple.'),
  expiresAt: UtcTimestamp.nullable().describe('When its certificate ends; null where it has none.'),
  status: z
    .enum(['active', 'retired'])
    .describe('Under a retired one no pass is made any more; those that it has are kept up to date.'),
})
export type Identity = z.output<typeof Identity>

/** Routes of identities. */
export const identities = {
  list: route({
    method: 'GET',
    path: '/v1/identities',
    scope: 'templates:read',
    summary: 'List the identities that the workspace may use',
    description:
      'Those that the operator of the server gave it (`passes identity`). What the server itself has is not among them: that is ' +
      'used where a project names none, and its workspace has no default. A token that is bound to projects sees none.',
    query: listQuery(['name', 'createdAt'], {}),
    responses: { 200: pageOf(Identity) },
  }),
}
