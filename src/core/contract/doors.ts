import { z } from 'zod'
import { Uuid } from '../ids.ts'
import { route } from '../route.ts'
import { Count, pageOf, Timestamp, text, UtcTimestamp } from './common.ts'
import { anyOf, booleanParam, listQuery } from './list.ts'

/** The maximum lifetime of an invitation and of a door's token, in days. */
export const MAX_DOOR_DAYS = 30

/** The headers that a door sends with each request. Invalid values are ignored, so that they never stop a door. */
export const doorHeaders = {
  /** The version of its page: 1 to 64 letters, digits, dots, plus, minus, or underscores. */
  version: 'x-door-version',
  /** The number of scans that are not uploaded yet: 0 to 9999999. */
  pending: 'x-door-pending',
} as const

const Gate = text(1, 100)
const DoorName = text(1, 100)

/** A phone or another browser that scans at a gate with a separate token. */
export const Door = z.strictObject({
  id: Uuid.describe('The deviceId of its scans.'),
  name: z.string(),
  projectId: Uuid,
  projectName: z.string().nullable().describe('Null once the project is deleted.'),
  gate: z.string().describe('The context.gate of its scans.'),
  createdAt: UtcTimestamp,
  expiresAt: UtcTimestamp.describe(`When its token ends: ${MAX_DOOR_DAYS} days after the claim.`),
  lastSeenAt: UtcTimestamp.nullable().describe('Up to 15 seconds late; null until its first request after the claim.'),
  version: z.string().nullable().describe('What it said last in X-Door-Version.'),
  pendingScans: Count.nullable().describe(
    'What it said last in X-Door-Pending: decided offline, and not reported yet.',
  ),
  revokedAt: UtcTimestamp.nullable(),
})
export type Door = z.output<typeof Door>

/** An invitation that lets phones scan at a gate. */
export const DoorInvitation = z.strictObject({
  id: Uuid,
  url: z.string().describe('The page of a door, with the code in the fragment, which browsers send to no server.'),
  code: z.string().describe('Shown once: a hash is all that is kept.'),
  expiresAt: UtcTimestamp,
})
export type DoorInvitation = z.output<typeof DoorInvitation>

/** The response to a claim. */
export const DoorClaim = z.strictObject({
  door: Door,
  token: z.string().describe('With scans:read and scans:write, for this project alone. Shown once.'),
})
export type DoorClaim = z.output<typeof DoorClaim>

const ById = z.strictObject({ id: Uuid })

/** Routes of doors and their invitations. */
export const doors = {
  invite: route({
    method: 'POST',
    path: '/v1/doors/invitations',
    scope: 'scans:write',
    role: 'owner',
    summary: 'Invite phones to scan at a gate',
    description:
      `Whoever opens the url claims a door; it works \`uses\` times, until expiresAt: ${MAX_DOOR_DAYS} days ahead at most. A ` +
      'project has 100 invitations at a time, and 5,000 doors and uses together; revoked and expired ones do not count.',
    body: z.strictObject({
      projectId: Uuid,
      gate: Gate,
      uses: z.int().min(1).max(1000).default(1),
      expiresAt: Timestamp,
    }),
    responses: { 201: DoorInvitation },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  endInvitation: route({
    method: 'DELETE',
    path: '/v1/doors/invitations/{id}',
    scope: 'scans:write',
    role: 'owner',
    summary: 'End an invitation',
    description: 'Nobody claims a door with it any more; those that were claimed stay.',
    params: ById,
    responses: { 204: null },
  }),
  claim: route({
    method: 'POST',
    path: '/v1/doors/claim',
    scope: null,
    isPublic: true,
    summary: 'Become a door with the code of an invitation',
    description:
      'A code that cannot be claimed is answered 404; details.reason is used_up, ended (or expired), or unknown. Claiming ' +
      'twice makes two doors.',
    maxBodyBytes: 4096,
    body: z.strictObject({ code: text(1, 128), name: DoorName }),
    responses: { 201: DoorClaim },
    errors: ['NOT_FOUND'],
  }),
  list: route({
    method: 'GET',
    path: '/v1/doors',
    scope: 'scans:read',
    forDoors: true,
    summary: 'List doors',
    description: 'To a door: itself alone. Those that ended stay in it, since the ledger names them.',
    query: listQuery(['createdAt'], { projectId: anyOf(Uuid).optional(), revoked: booleanParam.optional() }),
    responses: { 200: pageOf(Door) },
  }),
  update: route({
    method: 'PATCH',
    path: '/v1/doors/{id}',
    scope: 'scans:write',
    role: 'owner',
    forDoors: true,
    summary: 'Rename a door, or send it to another gate',
    description:
      'At least one field must be given. Scans that were recorded keep their gate. The token of a door can change its own ' +
      'gate, and nothing else.',
    params: ById,
    body: z.strictObject({ name: DoorName.optional(), gate: Gate.optional() }),
    responses: { 200: Door },
    errors: ['MISSING_REQUIRED_FIELD'],
  }),
  revoke: route({
    method: 'DELETE',
    path: '/v1/doors/{id}',
    scope: 'scans:write',
    role: 'owner',
    summary: 'Revoke a door',
    description:
      'Its token ends, on each server within 5 seconds. What it decided offline and has not reported is lost.',
    params: ById,
    responses: { 204: null },
  }),
}
