import type { ScanCreate } from '../../../core/contract/scans.ts'
import { newId } from '../../../core/ids.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { ledgerReason, ledgerResult } from '../../../core/rules/redemption/scan-decision.ts'
import type { NewAcceptedScan } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { voidPasses } from '../passes/void-pass.ts'
import type { EvaluatedScan } from './evaluate-scans.ts'
import { toScanItem } from './scan-shapes.ts'

/** An attempt that was evaluated, as it is to stand in the ledger. */
export interface DecidedScan {
  scan: StoredScan
  decision: EvaluatedScan
  correlationId: string
}

/**
 * Puts attempts into the ledger with all that follows from them, and returns those that it had not: of one whose
 * externalRef stands there already nothing is written. What counts is the result that the ledger shows: a device may have
 * let in whom the policy would not.
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
  // One moment for all: those of a set differ by milliseconds.
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
    // Where one window alone holds the moment, the moment says it.
    debitedWindow: (attempt?.isDebitStored && debit?.window?.key) || null,
    validityDate: scan.validateAsOf,
  }
  return [accepted]
}

/** The events of recorded scans of known passes: the bytes that a read of each answers. */
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

/** What the ledger keeps of what was sent. */
export type ScannedBody = Omit<ScanCreate, 'scannedAt' | 'passId'>

/** An attempt as the server evaluates it. */
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
    // What matched nothing belongs to the door that read it, where that sees one project alone.
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
