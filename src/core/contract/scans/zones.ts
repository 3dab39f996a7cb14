import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { Count, forLeads, MAX_BUCKETS, pageOf, route, Timestamp, text, UtcTimestamp } from '../schemas/common.ts'
import { exampleIds, filter, listQuery, param } from '../schemas/list-parameters.ts'

/** The maximum number of zones of a project. */
export const MAX_ZONES = 100

const MAX_PEOPLE = 10_000_000

const Name = text(1, 100)
const Capacity = z.int().min(1).max(MAX_PEOPLE)
const Reason = text(1, 255)
const ExternalRef = text(1, 255)

/** The behavior of a zone at its capacity: `warn` accepts further entries, and `deny` rejects them. */
export const WhenFull = z.enum(['warn', 'deny'])
export type WhenFull = z.output<typeof WhenFull>

const Inside = z
  .int()
  .describe(
    'The passes inside plus the adjustments since the last reset. Negative if adjustments counted too many out.',
  )

/** An area whose entries and exits are scanned. */
export const Zone = z.strictObject({
  id: Uuid,
  projectId: Uuid,
  name: z.string(),
  capacity: Count.nullable().describe('Null for no limit.'),
  whenFull: WhenFull,
  inside: Inside,
  resetAt: UtcTimestamp.nullable().describe('The time of the last reset.'),
  createdAt: UtcTimestamp,
  updatedAt: UtcTimestamp,
})
export type Zone = z.output<typeof Zone>

/** The possible bucket lengths of `ZoneOccupancy`. */
export const occupancyUnits = ['minute', 'hour'] as const
/** A bucket length of `ZoneOccupancy`. */
export type OccupancyUnit = (typeof occupancyUnits)[number]

/** The occupancy of a zone over time. */
export const ZoneOccupancy = z.strictObject({
  inside: Inside,
  capacity: Count.nullable(),
  peak: z.int().describe('The highest number of people inside between `from` and `to`.'),
  peakAt: UtcTimestamp.describe('The time at which the peak was first reached.'),
  entries: Count.describe('The sum of the entries of all items.'),
  exits: Count,
  items: z
    .array(
      z.strictObject({
        at: UtcTimestamp.describe('The start of the minute or hour in UTC. The first item can start before `from`.'),
        entries: Count.describe('People who came in, including positive adjustments. A double entry counts once.'),
        exits: Count.describe('People who left, including negative adjustments.'),
        inside: z.int().describe('The number inside at the end of the item. A reset sets it to 0 without exits.'),
      }),
    )
    .max(MAX_BUCKETS),
})
export type ZoneOccupancy = z.output<typeof ZoneOccupancy>

const capacityOf = Capacity.nullable().describe('Null for no limit.')

/** Routes of zones. */
export const zones = {
  create: route('POST', '/v1/zones', {
    ...forLeads,
    summary: 'Create a zone',
    description:
      `A zone counts the people inside, based on the scans that name the zone. A project can have ${MAX_ZONES} zones. ` +
      'If whenFull is deny, entries into a full zone are denied.',
    body: z.strictObject({
      projectId: Uuid,
      name: Name,
      capacity: capacityOf.default(null),
      whenFull: WhenFull.default('warn'),
    }),
    responses: { 201: Zone },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  list: route('GET', '/v1/zones', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'List zones',
    query: listQuery(['createdAt'], {
      projectId: filter(Uuid, 'Matches zones of this project.', exampleIds.project),
    }),
    responses: { 200: pageOf(Zone) },
  }),
  get: route('GET', '/v1/zones/{id}', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'Read a zone',
    responses: { 200: Zone },
    errors: ['NOT_FOUND'],
  }),
  update: route('PATCH', '/v1/zones/{id}', {
    ...forLeads,
    summary: 'Update a zone',
    description:
      'Requires at least one field. A new capacity applies to later entries. Passes that are already inside stay inside.',
    body: z.strictObject({ name: Name.optional(), capacity: capacityOf.optional(), whenFull: WhenFull.optional() }),
    responses: { 200: Zone },
    errors: ['NOT_FOUND', 'MISSING_REQUIRED_FIELD'],
  }),
  delete: route('DELETE', '/v1/zones/{id}', {
    ...forLeads,
    summary: 'Delete a zone',
    description:
      'Recorded scans keep their zoneId. Doors at entrances continue to scan, without a zone. Doors at exits stop ' +
      'scanning until you set their zoneId to another zone or null. Without this stop, they would admit people.',
    responses: { 204: null },
    errors: ['NOT_FOUND'],
  }),
  reset: route('POST', '/v1/zones/{id}/reset', {
    ...forLeads,
    summary: 'Set everybody in a zone to outside',
    description:
      'The number inside becomes 0, and adjustments no longer count. Scans from before the reset that are reported ' +
      'later do not count either. A request with the same externalRef as an earlier reset of the zone changes nothing.',
    idempotent: true,
    body: z.strictObject({ reason: Reason, externalRef: ExternalRef.optional() }),
    responses: { 200: Zone },
    errors: ['NOT_FOUND'],
  }),
  adjust: route('POST', '/v1/zones/{id}/adjust', {
    scope: 'scans:write',
    forDoors: true,
    summary: 'Count people in or out without a scan',
    description:
      'Use this if people enter or leave without a scan, or to correct the number. A request with the same ' +
      'externalRef as an earlier adjustment of the zone changes nothing. If the number inside would become negative, ' +
      'the response is 409 CONFLICT. An adjustment is possible in a full zone.',
    idempotent: true,
    body: z.strictObject({
      delta: z
        .int()
        .min(-MAX_PEOPLE)
        .max(MAX_PEOPLE)
        .refine((delta) => delta !== 0, 'Must not be 0'),
      reason: Reason,
      externalRef: ExternalRef,
    }),
    responses: { 200: Zone },
    errors: ['NOT_FOUND', 'CONFLICT'],
  }),
  occupancy: route('GET', '/v1/zones/{id}/occupancy', {
    scope: 'scans:read',
    readsMuch: true,
    summary: 'Count entries and exits of a zone over time',
    description:
      'Returns an item for each minute or hour (UTC) from `from` (inclusive) to `to` (exclusive), at most ' +
      `${MAX_BUCKETS}. Movements count at their scannedAt, so reports of offline scans change earlier items. ` +
      '`inside` is the current number, and `peak` the highest number between `from` and `to`.',
    query: z.strictObject({
      from: param(
        Timestamp,
        'The start, inclusive. Default: 24 hours before `to`, or 2 hours if `by` is `minute`.',
        '2027-05-20T07:00:00Z',
      ),
      to: param(Timestamp, 'The end, exclusive. Default: now.', '2027-05-20T19:00:00Z'),
      by: z.enum(occupancyUnits).default('hour').meta({ description: 'The length of an item.', example: 'minute' }),
    }),
    responses: { 200: ZoneOccupancy },
    errors: ['NOT_FOUND'],
  }),
}
