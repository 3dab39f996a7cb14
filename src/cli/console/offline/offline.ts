import type { SnapshotItem } from '../../../core/contract/scanner.ts'
import { identifierDigest } from '../../../core/rules/crypto/scan-code.ts'
import { statusAsOf } from '../../../core/rules/pass/pass-status.ts'
import { type AcceptedScan, historyOf } from '../../../core/rules/redemption/redemption-history.ts'
import { planRedemption } from '../../../core/rules/redemption/redemption-plan.ts'
import {
  decideScan,
  decisionMessage,
  type FoundPass,
  type ScanFacts,
} from '../../../core/rules/redemption/scan-decision.ts'
import { ledgerReason } from '../../../core/rules/redemption/scan-reasons.ts'
import type { Attempt, Candidate, Outcome, Station } from '../outcome.ts'
import type { DoorList } from './door-list.ts'
import type { OfflineVerdict } from './records.ts'
import type { DoorStore } from './store.ts'

/** Judges by the stored list, as the server does. */
export function evaluateOffline(
  attempt: Attempt,
  { list, store, station }: { list: DoorList; store: DoorStore; station: Station },
): { outcome: Outcome; verdict: OfflineVerdict } {
  const { items, isStale } = lookUp(attempt, list)
  const [pass = null] = items.length === 1 ? items : []
  const accepted = pass ? store.acceptedScans(pass.passId, pass.acceptedScans, list.generatedAt) : []
  const facts: ScanFacts = {
    realTime: attempt.at,
    validityDate: attempt.validityDate ?? undefined,
    matchCount: items.length,
    found: pass && lookAt(pass, accepted, attempt, isStale),
  }
  const decision = decideScan(facts)
  const { result, reasonCode } = decision
  const [readAt, scannedAt] = [attempt.at.toISOString(), decision.at.toISOString()]
  const outcome: Outcome = {
    payload: attempt.payload,
    externalRef: attempt.externalRef,
    result,
    reasonCode,
    message: decisionMessage(decision, facts),
    verified: 'offline',
    scanId: null,
    passId: pass?.passId ?? null,
    externalPassId: pass?.externalPassId ?? null,
    label: pass?.label ?? null,
    templateName: pass?.templateName ?? null,
    readAt,
    scannedAt,
    priorScanCount: accepted.length,
    lastAcceptedAt: accepted.at(-1)?.scannedAt.toISOString() ?? null,
    candidates: pass ? [] : items.slice(0, MAX_CANDIDATES).map(candidateOf),
    conflict: null,
  }
  const verdict: OfflineVerdict = {
    kind: 'verdict',
    externalRef: attempt.externalRef,
    snapshotId: list.id,
    ...(attempt.payload !== null && { qrPayload: attempt.payload }),
    ...(attempt.passId !== null && { passId: attempt.passId }),
    scannedAt: readAt,
    ...(attempt.validityDate !== null && { validityDate: attempt.validityDate, operationalAt: scannedAt }),
    result: result === 'accepted' ? 'accepted' : 'denied',
    reason: ledgerReason(reasonCode),
    ...(attempt.scanContextKey !== null && { scanContextKey: attempt.scanContextKey }),
    ...(station.deviceId !== undefined && { deviceId: station.deviceId }),
    context: station.context,
    acceptedPassId: result === 'accepted' ? pass!.passId : null,
  }
  return { outcome, verdict }
}

export function candidateOf(item: SnapshotItem): Candidate {
  return {
    passId: item.passId,
    label: item.label,
    externalPassId: item.externalPassId,
    templateName: item.templateName,
    standing: item.status === 'ISSUED' ? '' : item.status.toLowerCase(),
  }
}

const MAX_CANDIDATES = 20

function lookAt(
  pass: SnapshotItem,
  accepted: AcceptedScan[],
  { at, validityDate, scanContextKey }: Attempt,
  isStaleCode: boolean,
): FoundPass {
  const { status, redemption } = pass
  const expiresAt = pass.expiresAt === null ? null : new Date(pass.expiresAt)
  const plan = planRedemption({
    // It may have expired since the list was made.
    status: statusAsOf({ status, expiresAt }, at),
    expiresAt,
    policy: redemption,
    realTime: at,
    validityDate: validityDate ?? undefined,
    scanContextKey,
  })
  return { plan, history: historyOf(plan, accepted), isStaleCode }
}

/** The id decides where both are given; what its pass carried once is stale all the same. */
function lookUp({ passId, payload }: Attempt, list: DoorList): { items: SnapshotItem[]; isStale: boolean } {
  if (passId === null) return list.find(payload!)
  const item = list.get(passId)
  if (!item) return { items: [], isStale: false }
  const digest = payload === null ? null : identifierDigest(payload).toString('hex')
  return { items: [item], isStale: digest !== null && item.staleIdentifiers.includes(digest) }
}
