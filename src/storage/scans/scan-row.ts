import type { RedemptionPolicy } from '../../core/contract/schemas/redemption.ts'
import type {
  LedgerReason,
  LedgerResult,
  ScanContext,
  ScanItem,
  ScanReasonCode,
} from '../../core/contract/schemas/scan-shapes.ts'
import type { Direction } from '../../core/rules/zones/presence.ts'
import {
  json,
  mapping,
  nullable,
  number,
  optionalText,
  optionalTime,
  plain,
  type RecordOf,
  text,
  time,
} from '../db/record.ts'

export const SCAN = mapping({
  id: text,
  result: plain<LedgerResult>(),
  /** Null for a reversal. */
  reason: plain<LedgerReason | null>(),
  /** The reason code in the response; null for a reversal and for a decision of a device. */
  reasonCode: plain<ScanReasonCode | null>(),
  message: text,
  verified: plain<ScanItem['verified']>(),
  passId: optionalText,
  externalPassId: optionalText,
  projectId: optionalText,
  templateId: optionalText,
  templateVersionId: optionalText,
  redemption: nullable(json<RedemptionPolicy>()),
  /** The number of passes that matched the payload or ID. */
  matchedCount: number,
  /** The number of earlier accepted scans of the pass. */
  priorCount: number,
  /** The SHA-256 digest of the scanned code. */
  payloadDigest: plain<Uint8Array | null>(),
  scanContextKey: optionalText,
  scannedAt: time,
  recordedAt: time,
  deviceId: optionalText,
  externalRef: optionalText,
  context: nullable(json<ScanContext>()),
  /** The decision that the server would have made, if a device decided differently. */
  conflict: plain<LedgerReason | null>(),
  /** The time that the device sent, if it was outside the accepted range. */
  deviceTime: optionalTime,
  /** The date for which the scan was evaluated, as YYYY-MM-DD. */
  validateAsOf: optionalText,
  reversesScanId: optionalText,
  reversalReason: optionalText,
  /** The token that recorded the scan; null for scans from before tokens were recorded. */
  tokenId: optionalText,
  zoneId: optionalText,
  direction: plain<Direction | null>(),
  /** For an accepted re-entry into a zone, the scan that debited the use. The re-entry debits no further use. */
  useScanId: optionalText,
})

/** A scan or reversal in the ledger. Its fields about the pass have the values from the time of the scan. */
export interface StoredScan extends RecordOf<typeof SCAN> {}
