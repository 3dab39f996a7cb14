import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { pageOf, route, UtcTimestamp } from './schemas/common.ts'
import { listQuery } from './schemas/list-parameters.ts'
import { Platform } from './schemas/platform.ts'

/** An Apple pass type with its certificate, or a Google issuer with its service account. Contains no private key. */
export const Identity = z.strictObject({
  id: Uuid,
  platform: Platform,
  name: z.string().describe('Unique on the server.'),
  passTypeIdentifier: z.string().nullable().describe('The pass type of the certificate; null for Google.'),
  teamIdentifier: z.string().nullable().describe('The team of the certificate; null for Google.'),
  issuerId: z.string().nullable().describe('The ID of the issuer; null for Apple.'),
  expiresAt: UtcTimestamp.nullable().describe('The expiry of the certificate; null for Google.'),
  status: z
    .enum(['active', 'retired'])
    .describe('A retired identity gets no new passes. Its existing passes are still updated.'),
})
export type Identity = z.output<typeof Identity>

/** Routes of identities. */
export const identities = {
  list: route('GET', '/v1/identities', {
    scope: 'templates:read',
    summary: 'List the identities that the workspace can use',
    description:
      'Lists the identities that an operator assigned to the workspace (`passes identity`). The list does not ' +
      'contain the identity of the server, which applies if neither the project nor the workspace has an identity. ' +
      'For a token that is restricted to projects, the list is empty.',
    query: listQuery(['name', 'createdAt'], {}),
    responses: { 200: pageOf(Identity) },
  }),
}
