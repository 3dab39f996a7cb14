import type { RedemptionPolicy } from '../../core/contract/redemption.ts'
import type {
  LedgerReason,
  LedgerResult,
  ScanContext,
  ScanItem,
  ScanReasonCode,
} from '../../core/contract/scan-shapes.ts'
import { toDate } from '../db/dialect.ts'

/** An item of the ledger as it is stored. It describes the pass at the time of the scan. */
export interface StoredScan {
  id: string
  result: LedgerResult
  /** Null for a reversal. */
  reason: LedgerReason | null
  /** The reason code in the response; null for a reversal and for a decision of a device. */
  reasonCode: ScanReasonCode | null
  message: string
  verified: ScanItem['verified']
  passId: string | null
  externalPassId: string | null
  projectId: string | null
  templateId: string | null
  templateVersionId: string | null
  redemption: RedemptionPolicy | null
  /** The number of passes that matched the payload or ID. */
  matchedCount: number
  /** The number of earlier accepted scans of the pass. */
  priorCount: number
  /** The SHA-256 digest of the scanned code. */
  payloadDigest: Uint8Array | null
  scanContextKey: string | null
  scannedAt: Date
  recordedAt: Date
  deviceId: string | null
  externalRef: string | null
  context: ScanContext | null
  /** The decision that the server would have made, if a device decided differently. */
  conflict: LedgerReason | null
  /** The device's time, if it was out of bounds. */
  deviceTime: Date | null
  /** YYYY-MM-DD. */
  validateAsOf: string | null
  reversesScanId: string | null
  reversalReason: string | null
  /** The token that recorded the scan; null for scans from before tokens were recorded. */
  tokenId: string | null
}

export interface ScanRow {
  id: string
  workspace_id: string
  result: LedgerResult
  reason: LedgerReason | null
  reason_code: ScanReasonCode | null
  message: string
  verified: ScanItem['verified']
  pass_id: string | null
  external_pass_id: string | null
  project_id: string | null
  template_id: string | null
  template_version_id: string | null
  redemption: string | null
  matched_count: number
  prior_count: number
  payload_digest: Uint8Array | null
  scan_context_key: string | null
  scanned_at: number
  recorded_at: number
  device_id: string | null
  external_ref: string | null
  context: string | null
  conflict: LedgerReason | null
  device_time: number | null
  validate_as_of: string | null
  reverses_scan_id: string | null
  reversal_reason: string | null
  token_id: string | null
}

export function toScanRow(workspaceId: string, scan: StoredScan): ScanRow {
  return {
    id: scan.id,
    workspace_id: workspaceId,
    result: scan.result,
    reason: scan.reason,
    reason_code: scan.reasonCode,
    message: scan.message,
    verified: scan.verified,
    pass_id: scan.passId,
    external_pass_id: scan.externalPassId,
    project_id: scan.projectId,
    template_id: scan.templateId,
    template_version_id: scan.templateVersionId,
    redemption: scan.redemption && JSON.stringify(scan.redemption),
    matched_count: scan.matchedCount,
    prior_count: scan.priorCount,
    payload_digest: scan.payloadDigest,
    scan_context_key: scan.scanContextKey,
    scanned_at: scan.scannedAt.getTime(),
    recorded_at: scan.recordedAt.getTime(),
    device_id: scan.deviceId,
    external_ref: scan.externalRef,
    context: scan.context && JSON.stringify(scan.context),
    conflict: scan.conflict,
    device_time: scan.deviceTime?.getTime() ?? null,
    validate_as_of: scan.validateAsOf,
    reverses_scan_id: scan.reversesScanId,
    reversal_reason: scan.reversalReason,
    token_id: scan.tokenId,
  }
}

export function toScan(row: ScanRow): StoredScan {
  return {
    id: row.id,
    result: row.result,
    reason: row.reason,
    reasonCode: row.reason_code,
    message: row.message,
    verified: row.verified,
    passId: row.pass_id,
    externalPassId: row.external_pass_id,
    projectId: row.project_id,
    templateId: row.template_id,
    templateVersionId: row.template_version_id,
    redemption: row.redemption === null ? null : JSON.parse(row.redemption),
    matchedCount: row.matched_count,
    priorCount: row.prior_count,
    payloadDigest: row.payload_digest,
    scanContextKey: row.scan_context_key,
    scannedAt: new Date(row.scanned_at),
    recordedAt: new Date(row.recorded_at),
    deviceId: row.device_id,
    externalRef: row.external_ref,
    context: row.context === null ? null : JSON.parse(row.context),
    conflict: row.conflict,
    deviceTime: toDate(row.device_time),
    validateAsOf: row.validate_as_of,
    reversesScanId: row.reverses_scan_id,
    reversalReason: row.reversal_reason,
    tokenId: row.token_id,
  }
}
