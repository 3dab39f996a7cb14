import { z } from 'zod'
import { MAX_PAYLOAD_CHARACTERS } from '../bounds.ts'
import { Uuid } from '../ids.ts'
import { LARGE_BODY_BYTES, route } from '../route.ts'
import { CalendarDate, PassStatus, Timestamp, text, UtcTimestamp } from './common.ts'
import { integerParam } from './list.ts'
import { RedemptionPolicy } from './redemption.ts'
import { DoorView, LedgerReason, ScanContext, ScanItem } from './scan-shapes.ts'

const Digest = z.string().meta({ description: 'SHA-256 of an identifier, in hex.' })

/** A pass as a device needs it to scan offline. */
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
      validityDate: CalendarDate.optional().meta({ description: 'Where the scan was made as of a date.' }),
    }),
  ),
  door: DoorView.optional(),
  groupId: Uuid.optional().meta({ description: 'Only where the pass is in a group: alike for all passes of it.' }),
})
export type SnapshotItem = z.output<typeof SnapshotItem>

/** The decision of a device about one scan. */
export const OfflineScan = z
  .strictObject({
    externalRef: text(1, 255),
    qrPayload: text(1, MAX_PAYLOAD_CHARACTERS).optional(),
    passId: Uuid.optional(),
    scannedAt: Timestamp.meta({
      description:
        'When the scan was made, whatever date it was evaluated as of. A time before the pass was made, or more than 24 ' +
        'hours ahead of the server, counts as the nearer bound; metadata.deviceTime then keeps it.',
    }),
    validityDate: CalendarDate.optional(),
    result: z.enum(['accepted', 'denied']),
    reason: LedgerReason,
    scanContextKey: text(1, 128).optional(),
    deviceId: text(0, 128).optional(),
    context: ScanContext.optional(),
  })
  .superRefine(({ qrPayload, passId, result, reason }, context) => {
    if (qrPayload === undefined && passId === undefined) {
      context.addIssue({ code: 'custom', path: ['qrPayload'], message: 'Give qrPayload or passId' })
    }
    if ((result === 'accepted') !== (reason === 'valid')) {
      context.addIssue({ code: 'custom', path: ['reason'], message: 'Must be valid where accepted, and only there' })
    }
  })
export type OfflineScan = z.output<typeof OfflineScan>

/** Routes for offline scanners: the snapshot, and the later upload. */
export const scanner = {
  snapshot: route({
    method: 'GET',
    path: '/v1/scanner/snapshot',
    scope: 'scans:read',
    forDoors: true,
    summary: 'Take a door list for scanning offline',
    description:
      'The passes of a project, or of the whole workspace, that were made until generatedAt, each as it is when its page ' +
      'is read; erased ones are left out. A page may hold fewer than limit. The cursor belongs to the snapshot and is good ' +
      'for 24 hours. With since only what changed: items to put in place of those of the same passId, or to add, and in ' +
      'removed those to drop. The changes of all pages make the list of before into the new one, whose id is the next ' +
      'since. 409 SCANNER_SNAPSHOT_STALE says to fetch the list whole.',
    compressed: true,
    query: z.strictObject({
      projectId: Uuid.optional(),
      since: Uuid.optional().meta({
        description: 'The id of a snapshot of the same projectId that was fetched to its end, at most 24 hours old.',
      }),
      limit: integerParam(1, 1000).default(500),
      cursor: z.string().min(1).max(512).optional(),
    }),
    responses: {
      200: z.strictObject({
        id: Uuid,
        projectId: Uuid.nullable(),
        generatedAt: UtcTimestamp,
        items: z.array(SnapshotItem),
        removed: z.array(Uuid).optional().meta({
          description: 'Only with since: passes that the list has no more, such as erased ones. Of each page, its own.',
        }),
        nextCursor: z.string().nullable(),
        hasMore: z.boolean(),
      }),
    },
    errors: ['SCANNER_SNAPSHOT_STALE', 'SCANNER_OFFLINE_DISABLED', 'NOT_FOUND'],
  }),
  report: route({
    method: 'POST',
    path: '/v1/scans/offline',
    scope: 'scans:write',
    forDoors: true,
    summary: 'Report scans that a device decided offline',
    description: 'Each is stored as it was acted on; metadata.conflict says where the server would have disagreed.',
    idempotent: true,
    maxBodyBytes: LARGE_BODY_BYTES,
    body: z.strictObject({ snapshotId: Uuid.optional(), scans: z.array(OfflineScan).min(1).max(100) }),
    responses: {
      200: z.strictObject({
        results: z.array(
          z.strictObject({
            externalRef: z.string(),
            scan: ScanItem,
            conflict: LedgerReason.nullable(),
            idempotentReplay: z.boolean(),
          }),
        ),
      }),
    },
    errors: ['SCANNER_OFFLINE_DISABLED'],
  }),
}
