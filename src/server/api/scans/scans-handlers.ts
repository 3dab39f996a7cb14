import {
  type scans as contract,
  MAX_GATES,
  type RedemptionExplanation,
  type ScanReversal,
} from '../../../core/contract/scans/scans.ts'
import type { BucketUnit } from '../../../core/contract/schemas/common.ts'
import { foldWindow } from '../../../core/contract/schemas/list-parameters.ts'
import { scannedWindow } from '../../../core/contract/schemas/scan-list-query.ts'
import type { ScanResponse } from '../../../core/contract/schemas/scan-shapes.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { explainRedemption } from '../../../core/rules/redemption/redemption.ts'
import { planRedemption } from '../../../core/rules/redemption/redemption-plan.ts'
import { decideScan, decidingUse, type ScanFacts } from '../../../core/rules/redemption/scan-decision.ts'
import { type DoorLanguage, decisionMessage, reversalMessage } from '../../../core/rules/redemption/scan-message.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import { type ScanFigures, sumFigures, type TimeStatsRequest } from '../../../storage/scans/scan-stats.ts'
import type { Repositories, RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'
import { requireBuckets } from '../buckets.ts'
import { requirePass } from '../passes/require-pass.ts'
import { placesOfUse, writeScanEvents } from './evaluate-scans.ts'
import { languageOf, languagesOfMessages } from './message-languages.ts'
import { recordScan, replayResponse, takenRef } from './record-scan.ts'
import { replayLedger } from './replay-ledger.ts'
import { readBalances, reverseBalances } from './scan-balances.ts'
import { atDoor, toScanItem } from './scan-shapes.ts'
import { reverseMovement } from './zone-scans.ts'

export const scans: Handlers<typeof contract> = {
  create: ({ body }, context) => recordScan(body, context),

  list: async ({ query }, { store, workspaceId }) => {
    const request = foldWindow(query, scannedWindow, 'scanned')
    return toPage(await store.scans.list(workspaceId, request), toScanItem)
  },

  stats: async ({ query }, context) => {
    const { store, workspaceId } = context
    const request = foldWindow(query, scannedWindow, 'scanned')
    if (query.by) return { items: await statsByTime(query.by, request, context) }
    const [groupBy] = query.groupBy ?? []
    if (groupBy === 'gate') {
      const gates = await store.scanStats.countsByGate(workspaceId, request, MAX_GATES)
      return { items: gates.map(({ exits, ...figures }) => ({ ...figures, ...(exits !== 0 && { exits }) })) }
    }
    const figures = await store.scanStats.counts(workspaceId, request)
    if (groupBy === undefined) return toStats(sumFigures(figures.values()))
    const items = [...figures].map(([projectId, part]) => ({ projectId, ...toStats(part) }))
    return { items }
  },

  get: async ({ params }, context) => toScanItem(await getScan(params.id, context)),

  reverse: ({ params, body }, context) => reverseScan(params.id, atDoor(body, context), context),

  replay: ({ body }, context) => replayLedger(body, context),

  explain: ({ params, query }, context) => explainPass(params.id, query, context),
}

async function getScan(scanId: string, { store, workspaceId }: RequestContext): Promise<StoredScan> {
  const scan = await store.scans.find(workspaceId, scanId)
  if (scan) return scan
  throw new ApiError('NOT_FOUND', { message: 'Scan not found.', details: { scanId } })
}

function toStats({ totalPasses, redeemed, totalScans, totalDenied, lastScanAt }: ScanFigures) {
  return {
    totalPasses,
    redeemed,
    open: Math.max(0, totalPasses - redeemed),
    totalScans,
    totalDenied,
    lastScanAt: lastScanAt?.toISOString() ?? null,
  }
}

async function statsByTime(
  by: BucketUnit,
  { zone = 'UTC', ...request }: TimeStatsRequest & { zone?: string | undefined },
  { store, workspaceId, now }: RequestContext,
) {
  const range = { from: request.scanned!.from!, to: request.scanned!.to ?? now }
  const starts = requireBuckets(range, by, zone)
  // Exclude the end of the range. Otherwise, a scan at that time would count in the last bucket.
  const scanned = { from: range.from, to: new Date(range.to.getTime() - 1) }
  const items = await store.scanStats.countsByTime(workspaceId, { ...request, scanned }, starts)
  return items.map(({ at, ...attempts }) => ({ at: at.toISOString(), ...attempts }))
}

/**
 * Returns the decision for a scan at a given time, with the result of every check. Does not record a scan.
 * @throws ApiError PASS_NOT_FOUND
 */
async function explainPass(
  passId: string,
  question: { at?: string | undefined; validityDate?: string | undefined; scanContextKey?: string | undefined },
  context: RequestContext,
): Promise<RedemptionExplanation> {
  const { store, workspaceId, now } = context
  const pass = await requirePass(passId, context)
  const { at, validityDate, scanContextKey = null } = question
  const realTime = at === undefined ? now : new Date(at)
  const plan = planRedemption({
    status: effectiveStatus(pass, now),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime,
    validityDate,
    scanContextKey,
  })
  const history = await store.acceptedScans.findHistory(workspaceId, pass.id, plan)
  const balances = (await readBalances(store, [pass], context.services.definitions)).get(pass.id)
  const isUncovered = balances?.some((balance) => balance.isUncovered)
  const facts: ScanFacts = { realTime, validityDate, matchCount: 1, found: { plan, history, isUncovered } }
  const decision = decideScan(facts)
  const { result, reasonCode, attempt } = decision
  const [place] = await placesOfUse(store, workspaceId, [{ pass, usedAt: decidingUse(decision, facts) }])
  const message = { pass, language: languageOf(context) }
  const [language] = await languagesOfMessages(store, [message], context.services.definitions)
  return {
    passId: pass.id,
    at: decision.at.toISOString(),
    scanContextKey,
    result,
    reasonCode,
    message: decisionMessage(decision, facts, { firstPlace: place, language }),
    redemption: pass.redemption,
    acceptedScanCount: history.total,
    checks: explainRedemption(attempt!, history),
  }
}

/**
 * @throws ApiError NOT_FOUND; CONFLICT if the scan cannot be reversed; FORBIDDEN if a door reverses a scan that it did
 * not make
 */
async function reverseScan(scanId: string, body: ScanReversal, context: RequestContext): Promise<ScanResponse> {
  const { store, workspaceId } = context
  const scan = await getScan(scanId, context)
  if (context.token.door && scan.deviceId !== context.token.id) {
    throw new ApiError('FORBIDDEN', { message: 'A door can reverse only its own scans.', details: { scanId: scan.id } })
  }
  const { passId } = scan
  if (scan.result !== 'accepted' || passId === null) throw conflict(scan, 'Only an accepted scan can be reversed.')
  const written = await store.transaction(async (tx) => {
    // Without this lock, the evaluation of a concurrent scan of this pass could see a part of the reversal.
    const pass = (await tx.passes.findForUpdate(workspaceId, passId)) ?? null
    const zone = scan.zoneId === null ? undefined : await tx.zones.findForUpdate(workspaceId, scan.zoneId)
    if (!(await isCounted(tx, scan, context))) return undefined
    const uses = await tx.acceptedScans.listCounts(workspaceId, [passId], scan.scanContextKey)
    const message = { pass, language: languageOf(context) }
    const [language] = await languagesOfMessages(tx, [message], context.services.definitions)
    const priorCount = uses.get(passId)?.count ?? 0
    const reversal = toReversal(scan, body, { priorCount, language }, context)
    if (!(await tx.scans.insert(workspaceId, [reversal])).has(reversal.id)) return undefined
    await tx.acceptedScans.delete(workspaceId, scan.id)
    if (scan.zoneId !== null) await reverseMovement(tx, scan, zone, context)
    await reverseBalances(tx, pass, { scan, reversal }, context)
    await writeScanEvents(tx, workspaceId, [{ scan: reversal, correlationId: context.correlationId }])
    await audit(tx, context, 'scan.reverse', scan.id, { passId })
    return reversal
  })
  return written ? replayResponse(written, { idempotentReplay: false }, context) : replayReversal(scan, body, context)
}

/** Whether a scan counts as a use or a movement: it was accepted, and was not reversed. */
async function isCounted(
  { acceptedScans, movements }: Repositories,
  { id, zoneId }: StoredScan,
  { workspaceId }: RequestContext,
): Promise<boolean> {
  if (await acceptedScans.isCounted(workspaceId, id)) return true
  return zoneId !== null && movements.isCounted(workspaceId, id)
}

async function replayReversal(scan: StoredScan, body: ScanReversal, context: RequestContext): Promise<ScanResponse> {
  const { store, workspaceId } = context
  const refs = body.externalRef === undefined ? [] : [body.externalRef]
  const [known] = await store.scans.listByExternalRefs(workspaceId, refs)
  if (known?.reversesScanId === scan.id) return replayResponse(known, { idempotentReplay: true }, context)
  if (known) throw conflict(scan, 'The externalRef belongs to another scan.')
  if (await isCounted(store, scan, context)) takenRef(body.externalRef)
  throw conflict(scan, 'The scan was already reversed.')
}

function conflict(scan: StoredScan, message: string): ApiError {
  return new ApiError('CONFLICT', { message, details: { scanId: scan.id } })
}

function toReversal(
  scan: StoredScan,
  body: ScanReversal,
  { priorCount, language }: { priorCount: number; language: DoorLanguage | undefined },
  context: RequestContext,
): StoredScan {
  const { now, token } = context
  return {
    ...scan,
    id: newId(now),
    result: 'reversal',
    reason: null,
    reasonCode: null,
    message: reversalMessage(scan.scannedAt, scan.redemption, language),
    verified: 'online',
    matchedCount: 1,
    priorCount,
    payloadDigest: null,
    scannedAt: now,
    recordedAt: now,
    deviceId: body.deviceId ?? null,
    externalRef: body.externalRef ?? null,
    context: body.context ?? null,
    conflict: null,
    deviceTime: null,
    validateAsOf: null,
    reversesScanId: scan.id,
    reversalReason: body.reason ?? null,
    useScanId: null,
    tokenId: token.id,
  }
}
