import type { PassSummary, ScanAnswer } from '../../core/contract/scan-shapes.ts'
import type { ScanCreate } from '../../core/contract/scans.ts'
import { newId } from '../../core/ids.ts'
import { identifierDigest } from '../../core/rules/scan-code.ts'
import { ledgerReason, ledgerResult, resultOf } from '../../core/rules/scan-reasons.ts'
import type { UseCounts } from '../../storage/accepted-scans.ts'
import type { StoredScan } from '../../storage/scan-row.ts'
import type { Repositories } from '../../storage/store.ts'
import type { RequestContext } from '../context.ts'
import { findMatches, type Judgement, judgeScan } from './judge-scan.ts'
import { summarizePasses, toPassSummary } from './pass-summary.ts'
import { toScanItem, toScanRecord } from './scan-shapes.ts'
import { voidPass } from './void-pass.ts'

const MAX_CANDIDATES = 20

/**
 * Judges a scan and records it with all that follows from it, in one transaction. An externalRef that was there already,
 * or that a racing request brings first, changes nothing and answers as it was answered then.
 */
export async function recordScan(body: ScanCreate, context: RequestContext): Promise<ScanAnswer> {
  const { store, workspaceId, now } = context
  const replay = await findReplay(body.externalRef, context)
  if (replay) return replay

  const realTime = body.scannedAt === undefined ? now : new Date(body.scannedAt)
  const attempt = { ...body, realTime, matches: await findMatches(store, workspaceId, body) }
  const recorded = await store.transaction(async (tx) => {
    const judgement = await judgeScan(tx, workspaceId, attempt, now)
    const scan = toStoredScan(body, judgement, now)
    const isNew = (await tx.scans.insert(workspaceId, [scan])).has(scan.id)
    if (isNew) await writeEffects(tx, scan, judgement, context)
    return isNew ? { scan, judgement } : undefined
  })
  if (!recorded) return (await findReplay(body.externalRef, context))!

  const { scan, judgement } = recorded
  const { result, pass } = judgement
  const scanContextKey = body.scanContextKey ?? null
  const isAmbiguous = result === 'ambiguous'
  const candidates = isAmbiguous ? judgement.matches.slice(0, MAX_CANDIDATES) : []
  return toAnswer(scan, {
    pass: pass && (await toPassSummary(pass, usesAfter(judgement), scanContextKey, context)),
    candidates: await summarizePasses(candidates, scanContextKey, context),
    idempotentReplay: false,
  })
}

/** The first answer to an externalRef, with the pass as it stands now. */
export async function findReplay(
  externalRef: string | undefined,
  context: RequestContext,
): Promise<ScanAnswer | undefined> {
  if (externalRef === undefined) return undefined
  const { store, workspaceId } = context
  const [scan] = await store.scans.listByExternalRefs(workspaceId, [externalRef])
  return scan && answerAgain(scan, { idempotentReplay: true }, context)
}

/** The answer to a scan that stands in the ledger. */
export async function answerAgain(
  scan: StoredScan,
  { idempotentReplay }: { idempotentReplay: boolean },
  context: RequestContext,
): Promise<ScanAnswer> {
  const { store, workspaceId } = context
  const isAmbiguous = scan.reasonCode === 'multiple_matches' && scan.payloadDigest !== null
  const candidates = isAmbiguous ? await store.identifiers.listPassIds(workspaceId, scan.payloadDigest!) : []
  const [pass] = await summarizePasses(scan.passId === null ? [] : [scan.passId], scan.scanContextKey, context)
  return toAnswer(scan, {
    pass: pass ?? null,
    candidates: await summarizePasses(candidates.slice(0, MAX_CANDIDATES), scan.scanContextKey, context),
    idempotentReplay,
  })
}

/** The event of a recorded scan of a known pass: the bytes that a read of it answers. */
export async function writeScanEvent(tx: Repositories, scan: StoredScan, context: RequestContext): Promise<void> {
  const { workspaceId, now, correlationId } = context
  const event = { type: 'pass.scanned' as const, subject: scan.id, data: toScanItem(scan), correlationId }
  await tx.events.insert(workspaceId, [event], now)
}

async function writeEffects(
  tx: Repositories,
  scan: StoredScan,
  { pass, use }: Judgement,
  context: RequestContext,
): Promise<void> {
  if (!pass) return
  const { workspaceId, now, correlationId } = context
  if (use) {
    const accepted = {
      scanId: scan.id,
      passId: pass.id,
      projectId: pass.projectId,
      templateId: pass.templateId,
      scanContextKey: scan.scanContextKey,
      scannedAt: scan.scannedAt,
      chargedWindow: use.chargedWindow,
    }
    await tx.acceptedScans.insert(workspaceId, [accepted])
  }
  await writeScanEvent(tx, scan, context)
  if (use?.exhausts) await voidPass(tx, workspaceId, pass, { reason: 'exhausted', at: now, correlationId })
}

function toStoredScan(body: ScanCreate, judgement: Judgement, now: Date): StoredScan {
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
    validateAsOf: body.validityDate ?? null,
    reversesScanId: null,
    reversalReason: null,
  }
}

/** The counts of a pass with the scan that was just recorded. */
function usesAfter({ history, use, at }: Judgement): UseCounts {
  const { total, lastAt, inContext, contextLastAt } = history!
  if (!use) return { count: total, lastAt, contextCount: inContext, contextLastAt }
  const later = (other: Date | null) => (other && other > at ? other : at)
  return { count: total + 1, lastAt: later(lastAt), contextCount: inContext + 1, contextLastAt: later(contextLastAt) }
}

function toAnswer(
  scan: StoredScan,
  shown: { pass: PassSummary | null; candidates: PassSummary[]; idempotentReplay: boolean },
): ScanAnswer {
  const result = resultOf(scan)
  return {
    result,
    reasonCode: scan.reasonCode,
    scan: toScanRecord(scan),
    pass: shown.pass,
    message: scan.message,
    priorScanCount: scan.priorCount,
    isFirstScan: result === 'accepted' && scan.priorCount === 0,
    idempotentReplay: shown.idempotentReplay,
    candidates: shown.candidates,
  }
}
