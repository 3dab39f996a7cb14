import type { Client } from '../../client/client.ts'
import type { DoorGroup, ScanResponse } from '../../core/contract/scan-shapes.ts'
import type { SnapshotItem } from '../../core/contract/scanner.ts'
import { ScanCreate } from '../../core/contract/scans.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import {
  type Attempt,
  type Candidate,
  failedOutcome,
  type Outcome,
  outcomeOfResponse,
  type Station,
} from '../../core/rules/door/outcome.ts'
import { type GroupMember, groupAtDoor, MAX_GROUP_AT_DOOR } from '../../core/rules/pass/groups.ts'
import { statusAsOf } from '../../core/rules/pass/pass-status.ts'
import { type AcceptedScan, historyOf, planRedemption } from '../../core/rules/redemption/redemption-plan.ts'
import { decideScan, type FoundPass, ledgerReason, type ScanFacts } from '../../core/rules/redemption/scan-decision.ts'
import { decisionMessage } from '../../core/rules/redemption/scan-message.ts'
import { ask, type Connection } from './connection.ts'
import type { OfflineDecision } from './offline/log-files.ts'
import type { DoorSnapshot, ListKeeper } from './offline/snapshot.ts'
import type { DoorStore } from './offline/store.ts'
import { failureMessage } from './outcome.ts'

export interface EvaluateOptions {
  client: Client
  store: DoorStore
  connection: Connection
  lists: ListKeeper
  station: Station
}

/** The decision on an attempt: the server's, or where it does not answer that of the stored list. It never throws. */
export async function evaluate(attempt: Attempt, options: EvaluateOptions): Promise<Outcome> {
  const { store, connection, lists, station } = options
  const request = requestOf(attempt, station)
  if (!ScanCreate.safeParse(request).success) {
    return failedOutcome(attempt, 'This is no code of a pass: it is too long, or garbled.')
  }
  try {
    // With no list there is nothing to lose by asking each time.
    if (connection.state === 'online' || !lists.list) {
      const online = await evaluateOnline(attempt, request, options)
      if (online) return online
    }
    if (!lists.list) return failedOutcome(attempt, `No answer from the server, and ${whyNoList(lists)}. Scan again.`)
    const { outcome, record } = evaluateOffline(attempt, { list: lists.list, store, station })
    store.append(record)
    return outcome
  } catch (error) {
    return failedOutcome(attempt, `Not judged: ${failureMessage(error)}`)
  }
}

async function evaluateOnline(
  attempt: Attempt,
  body: ScanCreate,
  { client, connection, store }: EvaluateOptions,
): Promise<Outcome | undefined> {
  const reply = await ask((options) => client.scans.create({ body }, options))
  if (reply.kind === 'answer') {
    const outcome = outcomeOfResponse(attempt, reply.value)
    const problem = remember(attempt, reply.value, store)
    return problem === null ? outcome : { ...outcome, message: `${outcome.message} (${problem})` }
  }
  if (reply.kind === 'rejection') return failedOutcome(attempt, failureMessage(reply.error))
  connection.lost()
  return undefined
}

/** The stored list does not know of it; without the server the pass would be let in again. Null, or what went wrong. */
function remember({ validityDate }: Attempt, { result, scan }: ScanResponse, store: DoorStore): string | null {
  if (result !== 'accepted' || scan.passId === null) return null
  const { passId, scannedAt, scanContextKey, recordedAt } = scan
  const date = validityDate === null ? {} : { validityDate }
  try {
    store.append({ kind: 'accepted', passId, scannedAt, scanContextKey, ...date, recordedAt })
    return null
  } catch (error) {
    return `not stored here: ${failureMessage(error)}`
  }
}

function requestOf(attempt: Attempt, { projectId, deviceId, context }: Station): ScanCreate {
  const { payload, passId, externalRef, scanContextKey, validityDate } = attempt
  return {
    ...(payload !== null && { qrPayload: payload }),
    ...(passId !== null && { passId }),
    ...(projectId !== undefined && { projectId }),
    ...(scanContextKey !== null && { scanContextKey }),
    ...(validityDate !== null && { validityDate }),
    ...(deviceId !== undefined && { deviceId }),
    externalRef,
    context,
  }
}

function whyNoList({ rejection }: ListKeeper): string {
  return rejection === null
    ? 'there is no stored list to go on with'
    : `scanning offline is not possible (${rejection})`
}

/** Evaluates by the stored list, as the server does. */
export function evaluateOffline(
  attempt: Attempt,
  { list, store, station }: { list: DoorSnapshot; store: DoorStore; station: Station },
): { outcome: Outcome; record: OfflineDecision } {
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
    door: pass?.door ?? null,
    group: pass && groupOf(pass, attempt, { list, store, isAccepted: result === 'accepted' }),
    readAt,
    scannedAt,
    priorScanCount: accepted.length,
    lastAcceptedAt: accepted.at(-1)?.scannedAt.toISOString() ?? null,
    candidates: pass ? [] : items.slice(0, MAX_CANDIDATES).map(candidateOf),
    conflict: null,
  }
  const record: OfflineDecision = {
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
  return { outcome, record }
}

/** How far the group of a pass has been let in, with the scan that is being evaluated. */
function groupOf(
  { passId, groupId }: SnapshotItem,
  { at, scanContextKey }: Attempt,
  { list, store, isAccepted }: { list: DoorSnapshot; store: DoorStore; isAccepted: boolean },
): DoorGroup | null {
  if (groupId === undefined) return null
  const members = list.membersOf(groupId).slice(0, MAX_GROUP_AT_DOOR + 1)
  const seen = members.map((item): GroupMember => {
    const expiresAt = item.expiresAt === null ? null : new Date(item.expiresAt)
    const accepted = store.acceptedScans(item.passId, item.acceptedScans, list.generatedAt)
    return {
      ...item,
      status: statusAsOf({ status: item.status, expiresAt }, at),
      isUsed: (isAccepted && item.passId === passId) || accepted.some((scan) => scan.scanContextKey === scanContextKey),
    }
  })
  return groupAtDoor(seen, passId)
}

/** A pass of the stored list, as one of several to choose from. */
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
function lookUp({ passId, payload }: Attempt, list: DoorSnapshot): ReturnType<DoorSnapshot['find']> {
  if (passId === null) return list.find(payload!)
  const item = list.get(passId)
  if (!item) return { items: [], isStale: false }
  const digest = payload === null ? null : identifierDigest(payload).toString('hex')
  return { items: [item], isStale: digest !== null && item.staleIdentifiers.includes(digest) }
}
