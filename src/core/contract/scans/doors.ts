import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Count, forLeads, pageOf, route, Timestamp, text, UtcTimestamp } from '../schemas/common.ts'
import { booleanParam, exampleIds, filter, listQuery, param } from '../schemas/list-parameters.ts'
import { Direction } from '../schemas/scan-shapes.ts'

/** The maximum lifetime of an invitation, and the lifetime of a door's token, in days. */
export const MAX_DOOR_DAYS = 30

/** The headers that a door sends with each request. The server ignores invalid values, so that a door keeps working. */
export const doorHeaders = {
  /** The version of the door page: 1 to 64 characters (letters, digits, dots, plus, minus, underscores). */
  version: 'x-door-version',
  /** The number of scans that the door has not uploaded yet: 0 to 9999999. */
  pending: 'x-door-pending',
} as const

const Gate = text(1, 100)
const DoorName = text(1, 100)

/** A door: a browser, usually on a phone, that scans at a gate with its own token. */
export const Door = z.strictObject({
  id: Uuid.describe('The ID of the door, which is the deviceId of its scans.'),
  name: z.string(),
  projectId: Uuid,
  projectName: z.string().nullable().describe('Null after the project is deleted.'),
  gate: z.string().describe('The gate of the door, which is the context.gate of its scans.'),
  createdAt: UtcTimestamp,
  expiresAt: UtcTimestamp.describe(`The expiry of the door's token: ${MAX_DOOR_DAYS} days after the claim.`),
  lastSeenAt: UtcTimestamp.nullable().describe(
    'The time of the latest request of the door, at most 15 seconds late. Null until the first request after the ' +
      'claim.',
  ),
  version: z.string().nullable().describe('The latest value of X-Door-Version.'),
  pendingScans: Count.nullable().describe(
    'The latest value of X-Door-Pending: the number of offline scans that the door has not uploaded yet.',
  ),
  revokedAt: UtcTimestamp.nullable(),
  zoneId: Uuid.optional().describe(
    'The zone where the door scans. Set if the door has a zone. A door at an exit keeps the ID of a deleted zone.',
  ),
  direction: Direction.optional().describe('The direction of the scans. Set if the door has a zone.'),
})
export type Door = z.output<typeof Door>

/** An invitation that lets phones scan at a gate. */
export const DoorInvitation = z.strictObject({
  id: Uuid,
  url: z
    .string()
    .describe('The link to the door page. The fragment, which browsers do not send to servers, contains the code.'),
  code: z.string().describe('Shown once: only a hash is stored.'),
  expiresAt: UtcTimestamp,
})
export type DoorInvitation = z.output<typeof DoorInvitation>

/** The response when a phone claims an invitation. */
export const DoorClaim = z.strictObject({
  door: Door,
  token: z
    .string()
    .describe(
      'The access token of the door, shown once. It has the scopes scans:read and scans:write for this project only.',
    ),
})
export type DoorClaim = z.output<typeof DoorClaim>

/** Routes of doors and their invitations. */
export const doors = {
  invite: route('POST', '/v1/doors/invitations', {
    ...forLeads,
    summary: 'Invite phones to scan at a gate',
    description:
      `Anyone who opens the url can claim a door until expiresAt, which must be at most ${MAX_DOOR_DAYS} days ` +
      'ahead. An invitation can be claimed at most `uses` times. A project can have at most 100 invitations. Doors ' +
      'and remaining uses of invitations together can be at most 5,000. Revoked and expired doors and invitations ' +
      'do not count.',
    body: z.strictObject({
      projectId: Uuid,
      gate: Gate,
      uses: z.int().min(1).max(1000).default(1),
      expiresAt: Timestamp,
    }),
    responses: { 201: DoorInvitation },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  endInvitation: route('DELETE', '/v1/doors/invitations/{id}', {
    ...forLeads,
    summary: 'Cancel an invitation',
    description: 'No more doors can be claimed with the invitation. Doors that were claimed with it are not affected.',
    responses: { 204: null },
  }),
  claim: route('POST', '/v1/doors/claim', {
    scope: null,
    isPublic: true,
    summary: 'Claim a door with the code of an invitation',
    description:
      'If the code cannot be claimed, the response is 404, and details.reason is used_up, ended (canceled or ' +
      'expired), or unknown. Each claim creates a door, so a repeated request creates a second door.',
    maxBodyBytes: 4096,
    body: z.strictObject({ code: text(1, 128), name: DoorName }),
    responses: { 201: DoorClaim },
    errors: ['NOT_FOUND'],
  }),
  list: route('GET', '/v1/doors', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'List doors',
    description:
      'With the token of a door, the list contains only this door. Revoked and expired doors stay in the list, ' +
      'because scans refer to them.',
    query: listQuery(['createdAt'], {
      projectId: filter(Uuid, 'Matches doors of this project.', exampleIds.project),
      revoked: param(booleanParam, 'Whether the door is revoked.', false),
    }),
    responses: { 200: pageOf(Door) },
  }),
  update: route('PATCH', '/v1/doors/{id}', {
    ...forLeads,
    forDoors: true,
    summary: 'Rename a door, or move it to another gate',
    description:
      'Requires at least one field. Recorded scans keep their gate and zone. With the token of a door, only the gate, ' +
      'the zone, and the direction of this door can be changed. A door that gets another zone keeps its direction. ' +
      'A door that had no zone gets the direction "in". The zone and direction of a scan take precedence over those ' +
      'of the door.',
    body: z.strictObject({
      name: DoorName.optional(),
      gate: Gate.optional(),
      zoneId: Uuid.nullable().optional().describe('A zone of the project of the door. Null removes the zone.'),
      direction: Direction.optional().describe('Requires that the door has a zone.'),
    }),
    responses: { 200: Door },
    errors: ['MISSING_REQUIRED_FIELD', 'NOT_FOUND'],
  }),
  revoke: route('DELETE', '/v1/doors/{id}', {
    ...forLeads,
    summary: 'Revoke a door',
    description:
      "The door's token becomes invalid on each server within 5 seconds. The phone keeps offline decisions that it " +
      'has not uploaded. It uploads these decisions if it is invited again to the same project.',
    responses: { 204: null },
  }),
}
