import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { roles, route, scopes } from '../route.ts'
import { Count, UtcTimestamp } from './common.ts'

/** The limits, or the usage, of a workspace. */
const limited = {
  webhooks: Count,
  passes: Count.describe('Of every status: a pass is never deleted.'),
  storedBytes: Count.describe('Images, definitions of template versions and variables of passes.'),
  waitingJobs: Count.describe('Background work that is due, or waits for its time.'),
  draftsPerTemplate: Count.describe('In the usage: those of the template that has most.'),
  scheduledSends: Count.describe('Notifications and broadcasts whose sendAt is in the future.'),
  requestsInFlight: Count.describe('At the process that answers, this request among them.'),
}

/** The workspace of the token, with its limits and usage. */
const Workspace = z.strictObject({
  id: Uuid,
  name: z.string(),
  expiresAt: UtcTimestamp.nullable().optional().describe('From then on every request is refused with TENANT_EXPIRED.'),
  ledgerPublicKey: z
    .string()
    .nullable()
    .optional()
    .describe(
      'Ed25519, as PEM: signs the heads of the ledger of scans and of the audit log. Null before anything is chained.',
    ),
  limits: z.strictObject(limited).optional(),
  usage: z.strictObject(limited).optional(),
})

/** Routes of the token's workspace. */
export const workspace = {
  get: route({
    method: 'GET',
    path: '/v1/workspace',
    scope: null,
    forDoors: true,
    summary: 'Read the workspace of this token: its limits, and its usage',
    description:
      'What would pass a limit is refused with 409 `CONFLICT`, and too many requests at once with 429 ' +
      '`TOO_MANY_REQUESTS`; `details` hold `limit` (a name below), `allowed` and `used`. An operator changes limits with ' +
      '`passes workspace limits`.',
    responses: { 200: Workspace },
  }),
}

/** The token of the request, without its secret: its name, workspace, and permissions. */
const CurrentToken = z.strictObject({
  id: Uuid,
  name: z.string(),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  workspaceId: Uuid,
  workspaceName: z.string(),
  expiresAt: UtcTimestamp.nullable(),
  projectIds: z.array(Uuid).optional().describe('Of a token that sees these projects alone.'),
})

/** Routes of access tokens. */
export const tokens = {
  current: route({
    method: 'GET',
    path: '/v1/tokens/current',
    scope: null,
    forDoors: true,
    summary: 'Read what the token of this request may do',
    responses: { 200: CurrentToken },
  }),
}
