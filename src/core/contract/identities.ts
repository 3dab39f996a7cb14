import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { pageOf, route, UtcTimestamp } from './schemas/common.ts'
import { listQuery } from './schemas/list-parameters.ts'
import { Platform } from './schemas/platform.ts'

/** An Apple signer or a Google issuer, without its key. */
const Identity = z.strictObject({
  id: Uuid,
  platform: Platform,
  name: z.string().describe('Unique on the server.'),
  passTypeIdentifier: z.string().nullable().describe('Apple only; else null.'),
  teamIdentifier: z.string().nullable().describe('Apple only; else null.'),
  issuerId: z.string().nullable().describe('Google only; else null.'),
  expiresAt: UtcTimestamp.nullable().describe('The expiry of its certificate; null without one.'),
  status: z
    .enum(['active', 'retired'])
    .describe('A retired identity issues no new passes. Its existing passes are kept up to date.'),
})

/** Routes of identities. */
export const identities = {
  list: route('GET', '/v1/identities', {
    scope: 'templates:read',
    summary: 'List the identities that the workspace may use',
    description:
      'The identities that the server operator assigned (`passes identity`). The list does not include the ' +
      'default identity of the server, which is used if neither the project nor the workspace has one. A token ' +
      'that is bound to projects sees none.',
    query: listQuery(['name', 'createdAt'], {}),
    responses: { 200: pageOf(Identity) },
  }),
}
