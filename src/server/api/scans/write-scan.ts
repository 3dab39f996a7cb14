import type { ScanCreate } from '../../../core/contract/scans.ts'
import { newId } from '../../../core/ids.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { ledgerReason, ledgerResult } from '../../../core/rules/redemption/scan-reasons.ts'
import type { NewAcceptedScan } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { voidPasses } from '../passes/void-pass.ts'
import type { EvaluatedScan } from './evaluate-scans.ts'
import { toScanItem } from './scan-shapes.ts'

export interface DecidedScan {
  scan: StoredScan
  decision: EvaluatedScan
  correlationId: string
}

/**
 * Records attempts with their uses, events, and voided passes. Returns the attempts that are new. Nothing is written
 * for an externalRef that is already recorded. The recorded result counts, even if a device accepted a pass that the
 * policy rejects.
 */
export async function writeScans(
  tx: Repositories,
  workspaceId: string,
  evaluated: DecidedScan[],
): Promise<Set<DecidedScan>> {
  const inserted = await tx.scans.insert(
    workspaceId,
    evaluated.map(({ scan }) => scan),
  )
  const written = evaluated.filter(({ scan }) => inserted.has(scan.id))
  const accepted = written.filter(({ scan }) => scan.result === 'accepted')
  await tx.acceptedScans.insert(workspaceId, accepted.flatMap(toAcceptedScan))
  const ofPasses = written.filter(({ decision }) => decision.pass)
  await writeScanEvents(tx, workspaceId, ofPasses)
  const voidings = accepted.flatMap(({ decision: { debit, pass }, correlationId }) =>
    debit?.exhausts && pass && pass.status !== 'VOID' ? [{ pass, reason: 'exhausted', correlationId }] : [],
  )
  // Use one time for all passes, because the times of concurrent scans differ by only milliseconds.
  await voidPasses(tx, workspaceId, voidings, latest(written))
  return new Set(written)
}

function latest(written: DecidedScan[]): Date {
  return new Date(Math.max(0, ...written.map(({ scan }) => scan.recordedAt.getTime())))
}

function toAcceptedScan({ scan, decision: { pass, debit, attempt } }: DecidedScan): NewAcceptedScan[] {
  if (!pass) return []
  const accepted = {
    scanId: scan.id,
    passId: pass.id,
    projectId: pass.projectId,
    templateId: pass.templateId,
    scanContextKey: scan.scanContextKey,
    scannedAt: scan.scannedAt,
    // Store the window only if several windows contain the time. If only one does, the time identifies it.
    debitedWindow: (attempt?.isDebitStored && debit?.window?.key) || null,
    validityDate: scan.validateAsOf,
  }
  return [accepted]
}

/** Writes the events of recorded scans of known passes. Each event contains the same bytes as a read of the scan. */
export async function writeScanEvents(
  tx: Repositories,
  workspaceId: string,
  written: Pick<DecidedScan, 'scan' | 'correlationId'>[],
): Promise<void> {
  if (written.length === 0) return
  const events = written.map(({ scan, correlationId }) => ({
    type: 'pass.scanned' as const,
    subject: scan.id,
    data: toScanItem(scan),
    correlationId,
    at: scan.recordedAt,
  }))
  await tx.events.insert(workspaceId, events, events[0]!.at)
}

export type ScannedBody = Omit<ScanCreate, 'scannedAt' | 'passId'>

export function toStoredScan(body: ScannedBody, decision: EvaluatedScan, { now, token }: RequestContext): StoredScan {
  const { pass, history, matches, reasonCode } = decision
  return {
    id: newId(now),
    result: ledgerResult(decision.result),
    reason: ledgerReason(reasonCode),
    reasonCode,
    message: decision.message,
    verified: 'online',
    passId: pass?.id ?? null,
    externalPassId: pass?.externalPassId ?? null,
    // A scan without a match belongs to the project of the door, if its token is bound to one.
    projectId: pass ? pass.projectId : ((token.projectIds && body.projectId) ?? null),
    templateId: pass?.templateId ?? null,
    templateVersionId: pass?.templateVersionId ?? null,
    redemption: pass?.redemption ?? null,
    matchedCount: matches.length,
    priorCount: history?.total ?? 0,
    payloadDigest: body.qrPayload === undefined ? null : identifierDigest(body.qrPayload),
    scanContextKey: body.scanContextKey ?? null,
    scannedAt: decision.at,
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
