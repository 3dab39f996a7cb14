import type { ScanCreate } from '../../../core/contract/scans/scans.ts'
import { ApiError } from '../../../core/errors.ts'
import { newId } from '../../../core/ids.ts'
import type { RuledBalance } from '../../../core/rules/balances/balances.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { statusAsOf } from '../../../core/rules/pass/pass-status.ts'
import { planRedemption, type RedemptionPlan } from '../../../core/rules/redemption/redemption-plan.ts'
import { decideScan, decidingUse, type ScanFacts } from '../../../core/rules/redemption/scan-decision.ts'
import { decisionMessage } from '../../../core/rules/redemption/scan-message.ts'
import { ledgerReason, ledgerResult } from '../../../core/rules/redemption/scan-reasons.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { NewAcceptedScan } from '../../../storage/scans/accepted-scans.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import type { Definitions } from '../../wallet-sync/definitions.ts'
import { voidPasses } from '../passes/void-pass.ts'
import { type Attempt, type DecidedScan, type EvaluatedScan, namedPass, type ZoneAttempt } from './attempt.ts'
import { languagesOfMessages } from './message-languages.ts'
import { readBalances } from './scan-balances.ts'
import { toScanItem } from './scan-shapes.ts'
import { createPlaces, movementOfPass, readZones } from './zone-scans.ts'

/** Returns the IDs of the matching passes for each scan: its `passId`, or the IDs of the passes with its payload. */
export async function findMatches(
  { identifiers }: Repositories,
  workspaceId: string,
  scans: Pick<Attempt, 'qrPayload' | 'passId' | 'projectId'>[],
): Promise<string[][]> {
  const byCode = scans.filter(({ passId }) => passId === undefined)
  const codes = byCode.map(({ qrPayload, projectId }) => ({ digest: identifierDigest(qrPayload!), projectId }))
  const found = await identifiers.listPassIds(workspaceId, codes)
  const matches = new Map(byCode.map((scan, n) => [scan, found[n]!]))
  return scans.map((scan) => matches.get(scan) ?? [scan.passId!])
}

/**
 * Evaluates attempts, which must be for different passes. Locks the passes until the transaction ends, so that each
 * decision is still right when it is written. Returns an error for an attempt in an unknown zone.
 */
export async function evaluateScans(
  tx: Repositories,
  workspaceId: string,
  attempts: Attempt[],
  definitions: Definitions,
): Promise<(EvaluatedScan | ApiError)[]> {
  const foundAttempts = await findPasses(tx, workspaceId, attempts, definitions)
  const inside = createPlaces()
  const decided = foundAttempts.map((found, n) => {
    const movement = found.movement instanceof ApiError ? undefined : found.movement
    if (found.facts.found) found.facts.found.presence = inside.factsOf(movement)
    const decision = decideScan(found.facts)
    inside.take(movement, decision, attempts[n]!)
    return { ...found, decision }
  })
  const uses = decided.map(({ pass, decision, facts }) => ({ pass, usedAt: decidingUse(decision, facts) }))
  const places = await placesOfUse(tx, workspaceId, uses)
  const languages = await languagesOfMessages(
    tx,
    decided.map(({ pass, decision }, n) => ({
      // The pass provides the time zone. The message of an accepted scan contains no time, and needs no time zone.
      pass: decision.result === 'accepted' ? null : pass,
      language: attempts[n]!.language,
    })),
    definitions,
  )
  return decided.map(({ pass, matches, facts, movement, balances, decision }, n) => {
    if (movement instanceof ApiError) return movement
    const { realTime, found } = facts
    const message = decisionMessage(decision, facts, { firstPlace: places[n], language: languages[n] })
    return { ...decision, message, pass, matches, history: found?.history ?? null, realTime, movement, balances }
  })
}

interface FoundAttempt {
  pass: StoredPass | null
  matches: string[]
  facts: ScanFacts
  movement: ZoneAttempt | ApiError | undefined
  balances: RuledBalance[] | undefined
}

async function findPasses(
  tx: Repositories,
  workspaceId: string,
  attempts: Attempt[],
  definitions: Definitions,
): Promise<FoundAttempt[]> {
  const named = attempts.flatMap((attempt) => {
    const passId = namedPass(attempt)
    return passId === undefined ? [] : [{ attempt, passId }]
  })
  const passIds = named.map(({ passId }) => passId)
  // Keep this order. The second query must read the histories after the first query has locked the passes.
  const [passes, histories, zones] = await Promise.all([
    tx.passes.listForUpdate(workspaceId, passIds),
    tx.acceptedScans.listHistories(
      workspaceId,
      named.map(({ passId, attempt: { qrPayload, realTime, scanContextKey = null } }) => ({
        passId,
        realTime,
        scanContextKey,
        digest: qrPayload === undefined ? undefined : identifierDigest(qrPayload),
      })),
    ),
    readZones(tx, workspaceId, attempts),
  ])
  const held = new Map(passes.map((pass) => [pass.id, pass]))
  const found = named.flatMap(({ attempt, passId }, n) => {
    const pass = held.get(passId)
    return pass ? [{ attempt, passId, pass, plan: planOf(attempt, pass), ...histories[n]! }] : []
  })
  const counts = await tx.acceptedScans.listRangeCounts(workspaceId, found)
  const balances = await readBalances(tx, passes, definitions)
  const about = new Map(
    found.map((one, n) => [one.attempt, { ...one, history: { ...one.history, counts: counts[n]! } }]),
  )
  return attempts.map((attempt) => {
    const { projectId, realTime, validityDate } = attempt
    const seen = about.get(attempt)
    const pass = seen?.pass ?? null
    // A pass that was deleted since `matches` was read counts as not found.
    const matches = namedPass(attempt) !== undefined && !pass ? [] : attempt.matches
    const isElsewhere = pass && projectId !== undefined && pass.projectId !== projectId
    const elsewhere = isElsewhere ? { projectName: pass.projectName } : undefined
    const { plan, history, isStaleCode } = seen ?? {}
    const ofPass = pass ? balances.get(pass.id) : undefined
    const isUncovered = ofPass?.some((balance) => balance.isUncovered)
    return {
      pass,
      matches,
      balances: ofPass,
      movement: movementOfPass(zones.get(attempt), pass, attempt),
      facts: {
        realTime,
        validityDate,
        matchCount: matches.length,
        found: plan && history ? { plan, history, isStaleCode, elsewhere, isUncovered } : null,
      },
    }
  })
}

function planOf(attempt: Attempt, pass: StoredPass): RedemptionPlan {
  const { realTime, validityDate, scanContextKey = null, statusAt } = attempt
  return planRedemption({
    status: statusAsOf(pass, statusAt),
    expiresAt: pass.expiresAt,
    policy: pass.redemption,
    realTime,
    validityDate,
    scanContextKey,
  })
}

/**
 * Returns the place of each use: gate, lane, and location or, without these, the device. A place is `undefined` if
 * nothing is known.
 */
export async function placesOfUse(
  { acceptedScans }: Repositories,
  workspaceId: string,
  uses: { pass: StoredPass | null; usedAt: Date | null }[],
): Promise<(string | undefined)[]> {
  const known = uses.flatMap(({ pass, usedAt: at }, n) => (pass && at ? [{ n, passId: pass.id, at }] : []))
  const found = await acceptedScans.listPlaces(workspaceId, known)
  const places = new Map(known.map(({ n }, place) => [n, found[place]]))
  return uses.map((_, n) => places.get(n))
}

/**
 * Records attempts, their uses, and their events, and voids passes that are used up. Skips attempts whose externalRef
 * is already recorded, and returns the others. If a device accepted a pass, the scan is recorded as accepted, even if
 * the policy rejects the pass.
 */
export async function writeScans(
  tx: Repositories,
  workspaceId: string,
  evaluated: DecidedScan[],
): Promise<Set<DecidedScan>> {
  const scans = evaluated.map(({ scan }) => scan)
  const inserted = await tx.scans.insert(workspaceId, scans)
  const written = evaluated.filter(({ scan }) => inserted.has(scan.id))
  const accepted = written.filter(({ scan }) => scan.result === 'accepted')
  await tx.acceptedScans.insert(workspaceId, accepted.flatMap(toAcceptedScan))
  const ofPasses = written.filter(({ decision }) => decision.pass)
  await writeScanEvents(tx, workspaceId, ofPasses)
  const voidings = accepted.flatMap(({ decision: { debit, pass }, correlationId }) =>
    debit?.exhausts && pass && pass.status !== 'VOID' ? [{ pass, reason: 'exhausted', correlationId }] : [],
  )
  // The same time for all passes is exact enough: the times of concurrent scans differ by milliseconds.
  await voidPasses(tx, workspaceId, voidings, latest(written))
  return new Set(written)
}

function latest(written: DecidedScan[]): Date {
  return new Date(Math.max(0, ...written.map(({ scan }) => scan.recordedAt.getTime())))
}

/** Returns the use that an accepted scan debits, or an empty list: exits and re-entries debit no use. */
function toAcceptedScan({ scan, decision: { pass, debit, attempt } }: DecidedScan): NewAcceptedScan[] {
  if (!pass || !debit) return []
  const accepted = {
    scanId: scan.id,
    passId: pass.id,
    projectId: pass.projectId,
    templateId: pass.templateId,
    scanContextKey: scan.scanContextKey,
    scannedAt: scan.scannedAt,
    // If only one window contains the time, store no window, because the time identifies that window.
    debitedWindow: (attempt?.isDebitStored && debit.window?.key) || null,
    validityDate: scan.validateAsOf,
  }
  return [accepted]
}

/** Writes the events of recorded scans. An event contains the same bytes as a later read of its scan. */
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
  const { pass, history, matches, reasonCode, movement } = decision
  return {
    id: newId(now),
    result: ledgerResult(decision.result),
    reason: ledgerReason(reasonCode),
    reasonCode,
    message: decision.message,
    verified: 'online',
    passId: pass?.id ?? null,
    externalPassId: pass?.externalPassId ?? null,
    // Without a pass, the scan belongs to the project in the request if the token has projects, else to no project.
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
    zoneId: movement?.zone.id ?? null,
    direction: movement?.direction ?? null,
    useScanId: decision.result === 'accepted' ? continuedUse(decision) : null,
  }
}

/** Returns the ID of the scan whose use a re-entry continues; `null` for scans that are not re-entries. */
export function continuedUse({ isReentry, movement }: EvaluatedScan): string | null {
  return (isReentry && movement?.around?.use?.scanId) || null
}
