import { z } from 'zod'
import { Uuid } from '../../ids.ts'
import { directions } from '../../rules/zones/presence.ts'
import { Count, text, UtcTimestamp } from './common.ts'
import { RedemptionPolicy } from './redemption.ts'

/** The result of a scan attempt, as door staff see it. */
export const ScanResult = z.enum(['accepted', 'duplicate', 'unknown', 'ambiguous', 'denied', 'reversal'])
export type ScanResult = z.output<typeof ScanResult>

/** The reason for the result of a scan attempt, as door staff see it. */
export const ScanReasonCode = z.enum([
  'valid',
  'stale_identifier',
  'already_scanned',
  'not_active',
  'expired',
  'revoked',
  'wrong_scope',
  'not_valid_context',
  'out_of_window',
  'quota_exhausted',
  'cooldown',
  'no_match',
  'multiple_matches',
])
export type ScanReasonCode = z.output<typeof ScanReasonCode>

/** The result in the ledger. Every attempt that was not accepted has the result `denied`. */
export const LedgerResult = z.enum(['accepted', 'denied', 'reversal'])
export type LedgerResult = z.output<typeof LedgerResult>

/** The reason for the result of a scan, as the ledger stores it. */
export const LedgerReason = z.enum([
  'valid',
  'already_used',
  'no_match',
  'multiple_matches',
  'not_active',
  'expired',
  'revoked',
  'wrong_project',
  'out_of_window',
  'quota_exhausted',
  'cooldown',
  'unverifiable',
])
export type LedgerReason = z.output<typeof LedgerReason>

const contextText = text(0, 1000).optional()

/** The place and circumstances of a scan, as given by the client. */
export const ScanContext = z.strictObject({
  gate: contextText,
  lane: contextText,
  location: contextText,
  sessionId: contextText,
  note: contextText,
})
export type ScanContext = z.output<typeof ScanContext>

/** The direction of a movement: into or out of a zone. */
export const Direction = z.enum(directions)
export type Direction = z.output<typeof Direction>

const movement = {
  zoneId: Uuid.optional().describe('Set if the scan was a movement in a zone.'),
  direction: Direction.optional().describe('Set if the scan was a movement in a zone.'),
}

/** The context of a scan, with the fields that the server adds. */
export const ScanMetadata = ScanContext.extend({
  conflict: LedgerReason.optional().describe(
    'The reason that the server would have returned. Set on an offline scan if the server would have decided ' +
      'differently, or if the time of the device was out of range.',
  ),
  validateAsOf: z.iso
    .date()
    .optional()
    .describe('The validity date that replaced the current time in the evaluation (YYYY-MM-DD).'),
  deviceTime: UtcTimestamp.optional().describe(
    'The time that the device reported. Set on an offline scan if this time was before the creation of the pass, ' +
      'or more than a day ahead of the server. The scan is evaluated and recorded at the nearest valid time.',
  ),
})
export type ScanMetadata = z.output<typeof ScanMetadata>

/** A scan in the ledger. Lists, single reads, and the event pass.scanned serialize a scan to the same bytes. */
export const ScanItem = z.strictObject({
  id: Uuid,
  result: LedgerResult,
  reason: LedgerReason.nullable().describe('Null on a reversal.'),
  verified: z.enum(['online', 'offline']),
  passId: Uuid.nullable(),
  projectId: Uuid.nullable(),
  externalPassId: z.string().nullable(),
  scannedAt: UtcTimestamp,
  recordedAt: UtcTimestamp,
  deviceId: z.string().nullable(),
  metadata: ScanMetadata,
  reversesScanId: Uuid.optional().describe('The ID of the reversed scan. Set on a reversal.'),
  reversalReason: z
    .string()
    .nullable()
    .optional()
    .describe('The reason of a reversal, or null if none was given. Set on a reversal.'),
  ...movement,
})
export type ScanItem = z.output<typeof ScanItem>

/** A scan in the response to POST /v1/scans. */
export const ScanRecord = z.strictObject({
  id: Uuid,
  passId: Uuid.nullable(),
  projectId: Uuid.nullable(),
  templateVersionId: Uuid.nullable(),
  redemptionSnapshot: RedemptionPolicy.nullable(),
  scanContextKey: z.string().nullable(),
  scannedAt: UtcTimestamp,
  recordedAt: UtcTimestamp,
  reversesScanId: Uuid.nullable(),
  deviceId: z.string().nullable(),
  context: ScanContext.nullable(),
  externalRef: z.string().nullable(),
  reason: z.string().nullable().describe('The reason of a reversal; null on an attempt.'),
  matchedCount: Count.describe('The number of passes that match the payload or ID.'),
  createdAt: UtcTimestamp,
  ...movement,
})
export type ScanRecord = z.output<typeof ScanRecord>

/** The door view of a pass: fields and a notice for door staff. */
export const DoorView = z
  .strictObject({
    fields: z.array(z.strictObject({ label: z.string(), value: z.string() })).max(15),
    notice: z.string().nullable(),
  })
  .describe(
    'Set if the definition has door instructions, or the pass has balances. `fields` lists the balances, and ' +
      'the shown variables that have a value. `notice` is an instruction for door staff. Texts of more than 500 characters are truncated.',
  )
export type DoorView = z.output<typeof DoorView>

/** A pass in a list of the passes of a group. */
export const GroupPass = z.strictObject({ passId: Uuid, externalPassId: z.string(), label: z.string() })
export type GroupPass = z.output<typeof GroupPass>

/** The group of a scanned pass, with the number of admitted passes. */
export const DoorGroup = z
  .strictObject({
    size: Count.describe('The number of passes in the group. A void pass counts only if it was admitted.'),
    used: Count.describe('The number of passes that were admitted in the scan context of the attempt.'),
    open: z
      .array(GroupPass)
      .max(20)
      .describe(
        'Other passes of the group that were not admitted yet and are neither void nor expired, ordered by ID. If the ' +
          'scan has a zone, passes inside the zone are left out, and passes that left the zone are included.',
      ),
    inside: z
      .array(GroupPass)
      .max(20)
      .optional()
      .describe('Set if the scan has a zone: the passes of the group inside the zone, ordered by ID.'),
    hasMore: z
      .literal(true)
      .optional()
      .describe(
        'Set if the group has more than 100 passes. In that case, `size`, `used`, and `open` include only the first ' +
          '100 passes by ID.',
      ),
  })
  .describe('Set if the pass is in a group.')
export type DoorGroup = z.output<typeof DoorGroup>

/** The pass properties that door staff see, at the time of the response. */
export const PassSummary = z.strictObject({
  id: Uuid,
  externalPassId: z.string(),
  label: z.string(),
  projectId: Uuid.nullable(),
  projectName: z.string().nullable(),
  templateVersionId: Uuid.nullable(),
  templateName: z.string().nullable(),
  templateVersionNumber: Count.nullable(),
  expiresAt: UtcTimestamp.nullable(),
  acceptedScanCount: Count,
  lastAcceptedScanAt: UtcTimestamp.nullable(),
  scanContextKey: z.string().nullable(),
  contextAcceptedScanCount: Count,
  contextLastAcceptedScanAt: UtcTimestamp.nullable(),
  photoUrl: z.string().nullable(),
  variables: z.record(z.string(), z.unknown()),
  door: DoorView.optional(),
  group: DoorGroup.optional(),
})
export type PassSummary = z.output<typeof PassSummary>

/** The zone of a scan, at the time of the response. */
export const ScanZone = z.strictObject({
  id: Uuid,
  name: z.string(),
  inside: z.int().describe('The passes inside plus the adjustments since the last reset.'),
  capacity: Count.nullable().describe('Null for no limit.'),
})
export type ScanZone = z.output<typeof ScanZone>

/** A balance of a scanned pass. */
export const ScanBalance = z.strictObject({
  name: z.string(),
  value: z.int().describe('The value at the time of the response.'),
  delta: z.int().describe('The change by the scan; 0 if it did not change the balance.'),
})
export type ScanBalance = z.output<typeof ScanBalance>

/** The response to a scan or a reversal. */
export const ScanResponse = z.strictObject({
  result: ScanResult,
  reasonCode: ScanReasonCode.nullable().describe('Null on a reversal.'),
  scan: ScanRecord,
  pass: PassSummary.nullable().describe('Null unless exactly one pass matches.'),
  message: z.string().describe('The message for the operator.'),
  priorScanCount: Count.describe('Accepted scans of the pass before this attempt.'),
  isFirstScan: z.boolean().describe('Whether this is the first accepted scan of the pass.'),
  idempotentReplay: z
    .boolean()
    .describe(
      'Whether a scan with the externalRef already existed, so that the response repeats its decision and nothing ' +
        'was recorded.',
    ),
  candidates: z.array(PassSummary).max(20).describe('The passes to choose from if several match.'),
  zone: ScanZone.optional().describe('Set if the scan has a zone that still exists.'),
  balances: z.array(ScanBalance).optional().describe('Set if the pass has balances, in the order of the definition.'),
})
export type ScanResponse = z.output<typeof ScanResponse>
