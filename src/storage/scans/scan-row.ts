import type { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import type {
  LedgerReason,
  LedgerResult,
  ScanContext,
  ScanItem,
  ScanReasonCode,
} from '../../core/contract/schemas/scan-shapes.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import { field, mapping, type RecordOf } from '../db/record.ts'

export const SCAN = mapping({
  id: field.text,
  result: field.plain<LedgerResult>(),
  /** Null for a reversal. */
  reason: field.plain<LedgerReason | null>(),
  /** The reason code in the response; null for a reversal and for a decision of a device. */
  reasonCode: field.plain<ScanReasonCode | null>(),
  message: field.text,
  verified: field.plain<ScanItem['verified']>(),
  passId: field.optionalText,
  externalPassId: field.optionalText,
  projectId: field.optionalText,
  templateId: field.optionalText,
  templateVersionId: field.optionalText,
  redemption: field.nullable(field.json<RedemptionPolicy>()),
  /** The number of passes that matched the payload or ID. */
  matchedCount: field.number,
  /** The number of earlier accepted scans of the pass. */
  priorCount: field.number,
  /** The SHA-256 digest of the scanned code. */
  payloadDigest: field.plain<Uint8Array | null>(),
  scanContextKey: field.optionalText,
  scannedAt: field.time,
  recordedAt: field.time,
  deviceId: field.optionalText,
  externalRef: field.optionalText,
  context: field.nullable(field.json<ScanContext>()),
  /** The decision that the server would have made, if a device decided differently. */
  conflict: field.plain<LedgerReason | null>(),
  /** The time that the device sent, if it was outside the accepted range. */
  deviceTime: field.optionalTime,
  /** The date for which the scan was evaluated, as YYYY-MM-DD. */
  validateAsOf: field.optionalText,
  reversesScanId: field.optionalText,
  reversalReason: field.optionalText,
  /** The token that recorded the scan; null for scans from before tokens were recorded. */
  tokenId: field.optionalText,
  zoneId: field.optionalText,
  direction: field.plain<Direction | null>(),
  /** For an accepted re-entry into a zone, the scan that debited the use. The re-entry debits no further use. */
  useScanId: field.optionalText,
})

/** A scan or reversal in the ledger. Its fields about the pass have the values from the time of the scan. */
export interface StoredScan extends RecordOf<typeof SCAN> {}
