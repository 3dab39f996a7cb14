import type { SnapshotItem } from '../../contract/scans/scanner.ts'
import type { DoorGroup } from '../../contract/schemas/scan-shapes.ts'
import { statusAsOf } from '../pass/pass-status.ts'
import { planRedemption } from '../redemption/redemption-plan.ts'
import { decideScan, type FoundPass, type ScanFacts } from '../redemption/scan-decision.ts'
import type { DoorLanguage } from '../redemption/scan-message.ts'
import { decisionMessage } from '../redemption/scan-message.ts'
import { ledgerReason } from '../redemption/scan-reasons.ts'
import { type AcceptedScan, historyOf } from '../redemption/use-record.ts'
import type { PresenceFacts } from '../zones/presence.ts'
import { balancesAtDoor, withBalances } from './balances-at-door.ts'
import { type GroupMember, groupAtDoor, MAX_GROUP_AT_DOOR } from './group-at-door.ts'
import { candidateOfItem, type Matches } from './matches.ts'
import { type Attempt, failedOutcome, type Outcome, passFacts, type Station } from './outcome.ts'
import type { OfflineDecision } from './own-scans.ts'

export interface OfflineFacts {
  snapshotId: string
  matches: Matches
  /** The passes in the group of the matching pass, ordered by ID: all, or the first MAX_GROUP_AT_DOOR + 1. */
  members: readonly SnapshotItem[]
  /** Returns the accepted scans of a pass, oldest first, including scans that only this door knows. */
  acceptedScansOf: (item: SnapshotItem) => AcceptedScan[]
  unsentUsesOf: (item: SnapshotItem) => number
  /**
   * Returns the presence of a pass in the zone of a movement (`presenceAtDoor`). Required if the attempt is a movement.
   */
  presenceOf?: ((item: SnapshotItem) => PresenceFacts) | undefined
  station: Station
  language?: DoorLanguage | undefined
}

const MAX_CANDIDATES = 20

/** Evaluates an attempt offline, with the snapshot and the rules of the server. Returns what to show and to upload. */
export function evaluateOffline(attempt: Attempt, known: OfflineFacts): { outcome: Outcome; record: OfflineDecision } {
  const { snapshotId, matches, presenceOf, station, language } = known
  const { items, isStale } = matches
  const [pass = null] = items.length === 1 ? items : []
  const accepted = pass ? known.acceptedScansOf(pass) : []
  const sinceList = accepted.length - (pass?.acceptedScans.length ?? 0)
  const balances = pass?.balances ? balancesAtDoor(pass, { sinceList, unsent: known.unsentUsesOf(pass) }) : []
  const isUncovered = balances.some((balance) => balance.isUncovered)
  const facts: ScanFacts = {
    realTime: attempt.at,
    validityDate: attempt.validityDate ?? undefined,
    matchCount: items.length,
    found: pass && { ...toCandidate(pass, accepted, attempt, isStale), presence: presenceOf?.(pass), isUncovered },
  }
  const decision = decideScan(facts)
  const { result, reasonCode } = decision
  const isDebited = result === 'accepted' && decision.debit !== null
  const [readAt, scannedAt] = [attempt.at.toISOString(), decision.at.toISOString()]
  const outcome: Outcome = {
    ...failedOutcome(attempt, decisionMessage(decision, facts, { language })),
    ...passFacts(pass && { ...pass, door: withBalances(pass.door, balances, { isDebited, language }) }),
    result,
    reasonCode,
    verified: 'offline',
    passId: pass?.passId ?? null,
    group: pass && groupOf(pass, attempt, { ...known, isAccepted: result === 'accepted' }),
    scannedAt,
    priorScanCount: accepted.length,
    lastAcceptedAt: accepted.at(-1)?.scannedAt.toISOString() ?? null,
    candidates: pass ? [] : items.slice(0, MAX_CANDIDATES).map(candidateOfItem),
    ...(decision.presence === 'full' && { isZoneFull: true }),
  }
  const record: OfflineDecision = {
    kind: 'verdict',
    externalRef: attempt.externalRef,
    snapshotId,
    qrPayload: attempt.payload ?? undefined,
    passId: attempt.passId ?? undefined,
    scannedAt: readAt,
    validityDate: attempt.validityDate ?? undefined,
    operationalAt: attempt.validityDate === null ? undefined : scannedAt,
    result: result === 'accepted' ? 'accepted' : 'denied',
    reason: ledgerReason(reasonCode),
    scanContextKey: attempt.scanContextKey ?? undefined,
    deviceId: station.deviceId,
    context: station.context,
    ...attempt.movement,
    ...(decision.isReentry && { isReentry: true }),
    acceptedPassId: result === 'accepted' ? pass!.passId : null,
  }
  return { outcome, record }
}

type GroupFacts = Pick<OfflineFacts, 'members' | 'acceptedScansOf' | 'presenceOf'> & { isAccepted: boolean }

/** Returns the state of the group of a scanned pass, including this scan. Returns `null` if the pass has no group. */
export function groupOf(
  { passId, groupId }: SnapshotItem,
  { at, scanContextKey }: Pick<Attempt, 'at' | 'scanContextKey'>,
  { members, acceptedScansOf, presenceOf, isAccepted }: GroupFacts,
): DoorGroup | null {
  if (groupId === undefined) return null
  const seen = members.slice(0, MAX_GROUP_AT_DOOR + 1).map((item): GroupMember => {
    const isUsed = acceptedScansOf(item).some((scan) => scan.scanContextKey === scanContextKey)
    const isScanned = isAccepted && item.passId === passId
    const presence = presenceOf?.(item)
    const side = presence && (isScanned ? presence.direction : (presence.previous?.direction ?? null))
    const isEntry = isScanned && presence?.direction !== 'out'
    return { ...item, status: statusOf(item, at), isUsed: isEntry || isUsed, side }
  })
  return groupAtDoor(seen, passId)
}

function toCandidate(
  pass: SnapshotItem,
  accepted: AcceptedScan[],
  { at, validityDate, scanContextKey }: Attempt,
  isStaleCode: boolean,
): FoundPass {
  const plan = planRedemption({
    status: statusOf(pass, at),
    expiresAt: expiryOf(pass),
    policy: pass.redemption,
    realTime: at,
    validityDate: validityDate ?? undefined,
    scanContextKey,
  })
  return { plan, history: historyOf(plan, accepted), isStaleCode }
}

/** Returns the status of a pass at a time. The pass can have expired since the snapshot was created. */
function statusOf(item: SnapshotItem, at: Date) {
  return statusAsOf({ status: item.status, expiresAt: expiryOf(item) }, at)
}

function expiryOf({ expiresAt }: SnapshotItem): Date | null {
  return expiresAt === null ? null : new Date(expiresAt)
}
