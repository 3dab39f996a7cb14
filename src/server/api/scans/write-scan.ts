import type { ScanCreate } from '../../../core/contract/scans.ts'
import { newId } from '../../../core/ids.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { ledgerReason, ledgerResult } from '../../../core/rules/redemption/scan-reasons.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { voidPass } from '../passes/void-pass.ts'
import type { Judgement } from './judge-scan.ts'
import { toScanItem } from './scan-shapes.ts'

/**
 * Puts an attempt into the ledger with all that follows from it. False, and nothing is written, where its externalRef
 * stands there already. What counts is the result that the ledger shows: a device may have let in whom the policy would
 * not.
 */
export async function writeScan(
  tx: Repositories,
  scan: StoredScan,
  { pass, charge, attempt }: Judgement,
  context: RequestContext,
): Promise<boolean> {
  const { workspaceId, now, correlationId } = context
  const isNew = (await tx.scans.insert(workspaceId, [scan])).has(scan.id)
  if (!isNew || !pass) return isNew
  if (scan.result === 'accepted') {
    const accepted = {
      scanId: scan.id,
      passId: pass.id,
      projectId: pass.projectId,
      templateId: pass.templateId,
      scanContextKey: scan.scanContextKey,
      scannedAt: scan.scannedAt,
      // Where one window alone holds the moment, the moment says it.
      chargedWindow: (attempt?.isChargeStored && charge?.window?.key) || null,
      validityDate: scan.validateAsOf,
    }
    await tx.acceptedScans.insert(workspaceId, [accepted])
  }
  await writeScanEvent(tx, scan, context)
  if (scan.result === 'accepted' && charge?.exhausts && pass.status !== 'VOID') {
    await voidPass(tx, workspaceId, pass, { reason: 'exhausted', at: now, correlationId })
  }
  return true
}

/** The event of a recorded scan of a known pass: the bytes that a read of it answers. */
export async function writeScanEvent(tx: Repositories, scan: StoredScan, context: RequestContext): Promise<void> {
  const { workspaceId, now, correlationId } = context
  const event = { type: 'pass.scanned' as const, subject: scan.id, data: toScanItem(scan), correlationId }
  await tx.events.insert(workspaceId, [event], now)
}

/** An attempt as the server judges it. */
export function toStoredScan(
  body: Omit<ScanCreate, 'scannedAt' | 'projectId' | 'passId'>,
  judgement: Judgement,
  { now, token }: RequestContext,
): StoredScan {
  const { pass, history, matches, reasonCode } = judgement
  return {
    id: newId(now),
    result: ledgerResult(judgement.result),
    reason: ledgerReason(reasonCode),
    reasonCode,
    message: judgement.message,
    verified: 'online',
    passId: pass?.id ?? null,
    externalPassId: pass?.externalPassId ?? null,
    projectId: pass?.projectId ?? null,
    templateId: pass?.templateId ?? null,
    templateVersionId: pass?.templateVersionId ?? null,
    redemption: pass?.redemption ?? null,
    matchedCount: matches.length,
    priorCount: history?.total ?? 0,
    payloadDigest: body.qrPayload === undefined ? null : identifierDigest(body.qrPayload),
    scanContextKey: body.scanContextKey ?? null,
    scannedAt: judgement.at,
    recordedAt: now,
    deviceId: body.deviceId ?? null,
    externalRef: body.externalRef ?? null,
    context: body.context ?? null,
    conflict: null,
    deviceTime: null,
    validateAsOf: body.validityDate ?? null,
    reversesScanId: null,
    reversalReason: null,
    tokenId: token.id,
  }
}
