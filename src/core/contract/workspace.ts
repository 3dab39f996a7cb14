import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { roles, scopes } from '../route.ts'
import type { LimitName } from '../rules/pass/workspace-limits.ts'
import { Count, route, UtcTimestamp } from './schemas/common.ts'

/** The properties of both the limits and the usage of a workspace. */
const limited = {
  webhooks: Count,
  passes: Count.describe('Passes of every status. Passes are never deleted.'),
  storedBytes: Count.describe('Images, definitions of template versions and variables of passes.'),
  waitingJobs: Count.describe('Background jobs that are due or scheduled.'),
  draftsPerTemplate: Count.describe(
    'Drafts of one template. The usage is the number of drafts of the template with the most drafts.',
  ),
  scheduledSends: Count.describe('Notifications and broadcasts whose sendAt is in the future.'),
  requestsInFlight: Count.describe('Requests in progress in the server process that responds, including this request.'),
} satisfies Record<LimitName, z.ZodType>

/** The workspace of the token, with its limits and usage. */
export const Workspace = z.strictObject({
  id: Uuid,
  name: z.string(),
  expiresAt: UtcTimestamp.nullable()
    .optional()
    .describe('After this time, every request is rejected with TENANT_EXPIRED.'),
  ledgerPublicKey: z
    .string()
    .nullable()
    .optional()
    .describe(
      'The Ed25519 public key (PEM) for the signatures of the ledger of scans and of the audit log. Null until the ' +
        'first entry is chained.',
    ),
  limits: z.strictObject(limited).optional(),
  usage: z.strictObject(limited).optional(),
})
export type Workspace = z.output<typeof Workspace>

/** Routes of the token's workspace. */
export const workspace = {
  get: route('GET', '/v1/workspace', {
    scope: null,
    forDoors: true,
    summary: 'Read the workspace of the token with its limits and usage',
    description:
      'A request that would exceed a limit is rejected with 409 `CONFLICT`, or with 429 `TOO_MANY_REQUESTS` if the ' +
      'limit is requestsInFlight. `details` has `limit` (the name of the limit in the response), `allowed`, and ' +
      '`used`. An operator can change limits with `passes workspace limits`.',
    responses: { 200: Workspace },
  }),
}

/** The token of the request, without its secret: its name, workspace, and permissions. */
export const CurrentToken = z.strictObject({
  id: Uuid,
  name: z.string(),
  role: z.enum(roles),
  scopes: z.array(z.enum(scopes)),
  workspaceId: Uuid,
  workspaceName: z.string(),
  expiresAt: UtcTimestamp.nullable(),
  projectIds: z.array(Uuid).optional().describe('Set if the token is restricted to these projects.'),
})
export type CurrentToken = z.output<typeof CurrentToken>

/** Routes of access tokens. */
export const tokens = {
  current: route('GET', '/v1/tokens/current', {
    scope: null,
    forDoors: true,
    summary: 'Read the role and scopes of the token',
    responses: { 200: CurrentToken },
  }),
}
