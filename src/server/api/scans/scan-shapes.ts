import type { ScanItem, ScanRecord } from '../../../core/contract/scan-shapes.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'

/** The shape of spec 2.8, for lists, single reads and pass.scanned alike: the same scan always comes out as the same bytes. */
export function toScanItem(scan: StoredScan): ScanItem {
  return {
    id: scan.id,
    result: scan.result,
    reason: scan.reason,
    verified: scan.verified,
    passId: scan.passId,
    projectId: scan.projectId,
    externalPassId: scan.externalPassId,
    scannedAt: scan.scannedAt.toISOString(),
    recordedAt: scan.recordedAt.toISOString(),
    deviceId: scan.deviceId,
    metadata: {
      ...scan.context,
      ...(scan.conflict !== null && { conflict: scan.conflict }),
      ...(scan.validateAsOf !== null && { validateAsOf: scan.validateAsOf }),
      ...(scan.deviceTime !== null && { deviceTime: scan.deviceTime.toISOString() }),
    },
    ...(scan.reversesScanId !== null && {
      reversesScanId: scan.reversesScanId,
      reversalReason: scan.reversalReason,
    }),
  }
}

/** The shape of spec 2.7. */
export function toScanRecord(scan: StoredScan): ScanRecord {
  const recordedAt = scan.recordedAt.toISOString()
  return {
    id: scan.id,
    passId: scan.passId,
    projectId: scan.projectId,
    templateVersionId: scan.templateVersionId,
    redemptionSnapshot: scan.redemption,
    scanContextKey: scan.scanContextKey,
    scannedAt: scan.scannedAt.toISOString(),
    recordedAt,
    reversesScanId: scan.reversesScanId,
    deviceId: scan.deviceId,
    context: scan.context,
    externalRef: scan.externalRef,
    reason: scan.reversalReason,
    matchedCount: scan.matchedCount,
    createdAt: recordedAt,
  }
}
