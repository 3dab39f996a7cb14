import type { PassSummary, ScanAnswer } from '../../../core/contract/scan-shapes.ts'
import type { ScanCreate } from '../../../core/contract/scans.ts'
import { reasonCodeOf, resultOf } from '../../../core/rules/redemption/scan-reasons.ts'
import type { UseCounts } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { RequestContext } from '../../context.ts'
import { summarizePasses, toPassSummary } from '../passes/pass-summary.ts'
import { findMatches, type Judgement, judgeScan } from './judge-scan.ts'
import { toScanRecord } from './scan-shapes.ts'
import { toStoredScan, writeScan } from './write-scan.ts'

const MAX_CANDIDATES = 20

/**
 * Judges a scan and records it with all that follows from it, in one transaction. An externalRef that was there already,
 * or that a racing request brings first, changes nothing and answers as it was answered then.
 */
export async function recordScan(body: ScanCreate, context: RequestContext): Promise<ScanAnswer> {
  const { store, workspaceId, now } = context
  const replay = await findReplay(body, context)
  if (replay) return replay

  const realTime = body.scannedAt === undefined ? now : new Date(body.scannedAt)
  const attempt = { ...body, realTime, matches: await findMatches(store, workspaceId, body) }
  const recorded = await store.transaction(async (tx) => {
    const judgement = await judgeScan(tx, workspaceId, attempt, now)
    const scan = toStoredScan(body, judgement, context)
    return (await writeScan(tx, scan, judgement, context)) ? { scan, judgement } : undefined
  })
  if (!recorded) return (await findReplay(body, context))!

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
async function findReplay(
  { externalRef, projectId }: ScanCreate,
  context: RequestContext,
): Promise<ScanAnswer | undefined> {
  if (externalRef === undefined) return undefined
  const { store, workspaceId } = context
  const [scan] = await store.scans.listByExternalRefs(workspaceId, [externalRef])
  return scan && answerAgain(scan, { idempotentReplay: true, projectId }, context)
}

/** The answer to a scan that stands in the ledger. A given project narrows several matches, as it did the first time. */
export async function answerAgain(
  scan: StoredScan,
  { idempotentReplay, projectId }: { idempotentReplay: boolean; projectId?: string | undefined },
  context: RequestContext,
): Promise<ScanAnswer> {
  const { store, workspaceId } = context
  const isAmbiguous = reasonCodeOf(scan) === 'multiple_matches' && scan.payloadDigest !== null
  const candidates = isAmbiguous ? await store.identifiers.listPassIds(workspaceId, scan.payloadDigest!, projectId) : []
  const [pass] = await summarizePasses(scan.passId === null ? [] : [scan.passId], scan.scanContextKey, context)
  return toAnswer(scan, {
    pass: pass ?? null,
    candidates: await summarizePasses(candidates.slice(0, MAX_CANDIDATES), scan.scanContextKey, context),
    idempotentReplay,
  })
}

/** The counts of a pass with the scan that was just recorded. */
function usesAfter({ result, history, at }: Judgement): UseCounts {
  const { total, lastAt, inContext, contextLastAt } = history!
  if (result !== 'accepted') return { count: total, lastAt, contextCount: inContext, contextLastAt }
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
    reasonCode: reasonCodeOf(scan),
    scan: toScanRecord(scan),
    pass: shown.pass,
    message: scan.message,
    priorScanCount: scan.priorCount,
    isFirstScan: result === 'accepted' && scan.priorCount === 0,
    idempotentReplay: shown.idempotentReplay,
    candidates: shown.candidates,
  }
}
