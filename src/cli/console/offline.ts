import type { ScanReasonCode, ScanResult } from '../../core/contract/scan-shapes.ts'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import { evaluateRedemption } from '../../core/rules/redemption.ts'
import { type AcceptedScan, historyOf } from '../../core/rules/redemption-history.ts'
import { planRedemption } from '../../core/rules/redemption-plan.ts'
import { ambiguousMessage, plainMessage, redemptionMessage } from '../../core/rules/scan-message.ts'
import { ledgerReason } from '../../core/rules/scan-reasons.ts'
import type { DoorList } from './door-list.ts'
import type { Attempt, Candidate, Outcome, Station } from './outcome.ts'
import type { OfflineVerdict } from './records.ts'
import type { DoorStore } from './store.ts'

interface Finding {
  result: ScanResult
  reasonCode: ScanReasonCode
  message: string
  /** The operational time. */
  at: Date
  pass: SnapshotItem | null
  accepted: AcceptedScan[]
  candidates: SnapshotItem[]
}

/** Judges by the stored list, with the rules and in the order that the server has. */
export function judgeOffline(
  attempt: Attempt,
  { list, store, station }: { list: DoorList; store: DoorStore; station: Station },
): { outcome: Outcome; verdict: OfflineVerdict } {
  const finding = judgeByList(attempt, list, store)
  const { result, reasonCode, message, pass, accepted } = finding
  const scannedAt = finding.at.toISOString()
  const outcome: Outcome = {
    payload: attempt.payload,
    externalRef: attempt.externalRef,
    result,
    reasonCode,
    message,
    verified: 'offline',
    scanId: null,
    passId: pass?.passId ?? null,
    externalPassId: pass?.externalPassId ?? null,
    label: pass?.label ?? null,
    templateName: pass?.templateName ?? null,
    readAt: attempt.at.toISOString(),
    scannedAt,
    priorScanCount: accepted.length,
    lastAcceptedAt: accepted.at(-1)?.scannedAt.toISOString() ?? null,
    candidates: finding.candidates.map(candidateOf),
    conflict: null,
  }
  const verdict: OfflineVerdict = {
    kind: 'verdict',
    externalRef: attempt.externalRef,
    snapshotId: list.id,
    ...(attempt.payload !== null && { qrPayload: attempt.payload }),
    ...(attempt.passId !== null && { passId: attempt.passId }),
    scannedAt,
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

function judgeByList(attempt: Attempt, list: DoorList, store: DoorStore): Finding {
  const { items, isStale } = lookUp(attempt, list)
  const none = { at: attempt.at, pass: null, accepted: [], candidates: [] }
  if (items.length > 1) {
    const message = ambiguousMessage(items.length)
    const candidates = items.slice(0, MAX_CANDIDATES)
    return { ...none, result: 'ambiguous', reasonCode: 'multiple_matches', message, candidates }
  }
  const [pass] = items
  if (!pass) return { ...none, result: 'unknown', reasonCode: 'no_match', message: plainMessage('no_match') }
  const accepted = store.acceptedScans(pass.passId, pass.acceptedScans, list.generatedAt)
  if (isStale) {
    const message = plainMessage('stale_identifier')
    return { ...none, result: 'denied', reasonCode: 'stale_identifier', message, pass, accepted }
  }
  const plan = planRedemption({
    status: pass.status,
    expiresAt: pass.expiresAt === null ? null : new Date(pass.expiresAt),
    policy: pass.redemption,
    realTime: attempt.at,
    validityDate: attempt.validityDate ?? undefined,
  })
  const history = historyOf(plan, accepted, attempt.scanContextKey)
  const { result, reasonCode } = evaluateRedemption(plan, history)
  const message = redemptionMessage(reasonCode, { plan, history })
  return { ...none, result, reasonCode, message, at: plan.at, pass, accepted }
}

/** The id decides where both are given. */
function lookUp({ passId, payload }: Attempt, list: DoorList) {
  if (passId === null) return list.find(payload!)
  const item = list.get(passId)
  return { items: item ? [item] : [], isStale: false }
}
