import { z } from 'zod'
import { formatsWithReadings } from '../../barcode-formats.ts'
import { MAX_PAYLOAD_CHARACTERS } from '../../bounds.ts'
import { Uuid } from '../../ids.ts'
import { LARGE_BODY_BYTES } from '../../route.ts'
import { addIssue, CalendarDate, Count, PassStatus, route, Timestamp, text, UtcTimestamp } from '../schemas/common.ts'
import { exampleIds, integerParam, param } from '../schemas/list-parameters.ts'
import { RedemptionPolicy } from '../schemas/redemption.ts'
import { Direction, DoorView, LedgerReason, ScanContext, ScanItem } from '../schemas/scan-shapes.ts'
import { Zone } from './zones.ts'

const Digest = z.string().describe('SHA-256 of an identifier, in hex.')

/** A pass in a snapshot, with the properties that a device needs to scan it offline. */
export const SnapshotItem = z.strictObject({
  passId: Uuid,
  externalPassId: z.string(),
  label: z.string(),
  templateName: z.string().nullable(),
  status: PassStatus,
  expiresAt: UtcTimestamp.nullable(),
  redemption: RedemptionPolicy.nullable(),
  identifiers: z.array(Digest),
  staleIdentifiers: z.array(Digest),
  acceptedScans: z.array(
    z.strictObject({
      scannedAt: UtcTimestamp,
      scanContextKey: z.string().nullable(),
      validityDate: CalendarDate.optional().describe('Set if the scan has a validity date.'),
    }),
  ),
  barcodeFormat: z
    .enum(formatsWithReadings)
    .optional()
    .describe(
      'Set if scanners can send the message of this format in different forms, such as without a leading zero. If no ' +
        'pass matches the exact payload of a scan, compare its other forms in this format.',
    ),
  door: DoorView.optional(),
  presence: z
    .array(
      z.strictObject({
        zoneId: Uuid,
        direction: Direction,
        at: UtcTimestamp,
        gate: z.string().nullable(),
        use: z
          .strictObject({ scannedAt: UtcTimestamp, scanContextKey: z.string().nullable() })
          .nullable()
          .describe(
            'The use that the last entry debited or continued. POST /v1/scans describes which re-entries debit no ' +
              'other use.',
          ),
      }),
    )
    .optional()
    .describe('The last movement of the pass in each zone since the last reset. Set if there is such a movement.'),
  balances: z
    .array(
      z.strictObject({
        name: z.string(),
        label: z.string(),
        currency: z.string().nullable(),
        value: z.int(),
        min: z.int(),
        max: z.int().nullable(),
        delta: z.int().describe('The change by an accepted scan; 0 if scans do not change the balance.'),
        offlineAllowance: Count.describe('The amount that a device can debit before its scans are uploaded.'),
      }),
    )
    .optional()
    .describe('Set if the pass has balances, in the order of the definition.'),
  groupId: Uuid.optional().describe('Set if the pass is in a group. All passes of the group have the same groupId.'),
})
export type SnapshotItem = z.output<typeof SnapshotItem>

/** A page of a snapshot: the passes that a device stores to scan offline. With `since`, only the changed passes. */
export const Snapshot = z.strictObject({
  id: Uuid,
  projectId: Uuid.nullable(),
  generatedAt: UtcTimestamp,
  items: z.array(SnapshotItem),
  zones: z
    .array(Zone)
    .optional()
    .describe(
      'The zones of the project, at the time of the response. Set if the project has zones. Ignore a presence ' +
        'that is not after resetAt of its zone.',
    ),
  removed: z
    .array(Uuid)
    .optional()
    .describe(
      'Only with `since`: the IDs of passes to delete from the list, such as erased passes. Each page has ' +
        'different IDs.',
    ),
  nextCursor: z.string().nullable(),
  hasMore: z.boolean(),
})
export type Snapshot = z.output<typeof Snapshot>

/** A decision that a device made offline about one scan. */
export const OfflineScan = z
  .strictObject({
    externalRef: text(1, 255),
    qrPayload: text(1, MAX_PAYLOAD_CHARACTERS).optional(),
    passId: Uuid.optional(),
    scannedAt: Timestamp.describe(
      'The time at which the device scanned, regardless of validityDate. If the time is before the creation of the ' +
        'pass, or more than 24 hours ahead of the server, the server uses the nearest valid time and stores the ' +
        'original in metadata.deviceTime.',
    ),
    validityDate: CalendarDate.optional(),
    result: z.enum(['accepted', 'denied']),
    reason: LedgerReason,
    scanContextKey: text(1, 128).optional(),
    deviceId: text(0, 128).optional(),
    context: ScanContext.optional(),
    zoneId: Uuid.optional().describe('The zone that the device evaluated. Without it, the scan is not a movement.'),
    direction: Direction.optional().describe(
      'Default: the direction of the door if the scan is in the zone of the door, else `in`.',
    ),
  })
  .superRefine(({ qrPayload, passId, result, reason }, context) => {
    if (qrPayload === undefined && passId === undefined) addIssue(context, ['qrPayload'], 'Give qrPayload or passId')
    if ((result === 'accepted') !== (reason === 'valid')) {
      addIssue(context, ['reason'], 'Must be "valid" if and only if result is "accepted"')
    }
  })
export type OfflineScan = z.output<typeof OfflineScan>

/** The response to an upload of offline decisions: the stored scans, in the order of the request. */
export const OfflineResults = z.strictObject({
  results: z.array(
    z.strictObject({
      externalRef: z.string(),
      scan: ScanItem,
      conflict: LedgerReason.nullable(),
      idempotentReplay: z.boolean(),
    }),
  ),
})
export type OfflineResults = z.output<typeof OfflineResults>

/** Routes for offline scanners: the snapshot, and the later upload. */
export const scanner = {
  snapshot: route('GET', '/v1/scanner/snapshot', {
    scope: 'scans:read',
    forDoors: true,
    summary: 'Read a snapshot of passes for offline scanning',
    description:
      'Returns the passes of a project, or of the whole workspace, that were created before generatedAt and are ' +
      'not erased. Each pass has its state at the time of the request for its page. A page can have fewer items ' +
      'than limit. The cursor belongs to the snapshot and is valid for 24 hours. With `since`, the response contains ' +
      'only changes: add the items, or replace them by passId, and delete the passes in `removed`. Once you have ' +
      'applied the changes of all pages, send the ID of the snapshot as the next `since`. If the response is 409 ' +
      'SCANNER_SNAPSHOT_STALE, read a whole snapshot again.',
    compressed: true,
    query: z.strictObject({
      projectId: param(Uuid, 'The project whose passes to list. Default: the whole workspace.', exampleIds.project),
      since: param(
        Uuid,
        'The ID of a snapshot with the same projectId. You must have read all its pages, at most 24 hours ago.',
        '01985f0c-7a10-7000-8000-000000000020',
      ),
      limit: integerParam(1, 1000)
        .default(500)
        .meta({ description: 'The maximum number of items in the page.', example: 1000 }),
      cursor: z.string().min(1).max(512).optional().describe('The `nextCursor` of the previous page of this snapshot.'),
    }),
    responses: {
      200: Snapshot,
    },
    errors: ['SCANNER_SNAPSHOT_STALE', 'SCANNER_OFFLINE_DISABLED', 'NOT_FOUND'],
  }),
  report: route('POST', '/v1/scans/offline', {
    scope: 'scans:write',
    forDoors: true,
    summary: 'Upload scans that a device decided offline',
    description:
      'The server stores the decision of the device for each scan. If the server would have decided differently, ' +
      'metadata.conflict of the scan has the reason of the server. If a zone never existed, or belongs to another ' +
      'project than the scan, the response is 404, and nothing is recorded.',
    idempotent: true,
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({ snapshotId: Uuid.optional(), scans: z.array(OfflineScan).min(1).max(100) }),
    responses: {
      200: OfflineResults,
    },
    errors: ['SCANNER_OFFLINE_DISABLED', 'NOT_FOUND'],
  }),
}
