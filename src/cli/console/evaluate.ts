import type { Client } from '../../client/client.ts'
import type { ScanResponse } from '../../core/contract/scan-shapes.ts'
import { ScanCreate } from '../../core/contract/scans.ts'
import { identifierDigest } from '../../core/rules/crypto/scan-code.ts'
import { evaluateOffline } from '../../core/rules/door/evaluate-offline.ts'
import { matchesOf } from '../../core/rules/door/matches.ts'
import {
  type Attempt,
  failedOutcome,
  type Outcome,
  outcomeOfResponse,
  type Station,
} from '../../core/rules/door/outcome.ts'
import { doorEnglish } from '../../core/rules/redemption/door-language.ts'
import { ask, type Connection } from './connection.ts'
import { clockZone } from './lines.ts'
import type { DoorSnapshot, ListKeeper } from './offline/snapshot.ts'
import type { DoorStore } from './offline/store.ts'
import { failureMessage } from './outcome.ts'

/** The sources of decisions: the server, or the stored list and the scans of this machine. */
export interface EvaluateOptions {
  client: Client
  store: DoorStore
  connection: Connection
  lists: ListKeeper
  station: Station
}

/** Returns the server's decision on an attempt, or an offline decision if the server does not respond. Never throws. */
export async function evaluate(attempt: Attempt, options: EvaluateOptions): Promise<Outcome> {
  const { store, connection, lists, station } = options
  const request = requestOf(attempt, station)
  if (!ScanCreate.safeParse(request).success) {
    return failedOutcome(attempt, 'This is no code of a pass: it is too long, or garbled.')
  }
  try {
    // Without a stored list, always try the server.
    if (connection.state === 'online' || !lists.list) {
      const online = await evaluateOnline(attempt, request, options)
      if (online) return online
    }
    if (!lists.list) return failedOutcome(attempt, `No answer from the server, and ${whyNoList(lists)}. Scan again.`)
    const { outcome, record } = evaluateByList(attempt, { list: lists.list, store, station })
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
  const reply = await ask((options) => client.scans.create({ body, headers: { 'x-time-zone': clockZone() } }, options))
  if (reply.kind === 'answer') {
    const outcome = outcomeOfResponse(attempt, reply.value)
    const problem = remember(attempt, reply.value, store)
    return problem === null ? outcome : { ...outcome, message: `${outcome.message} (${problem})` }
  }
  if (reply.kind === 'rejection') return failedOutcome(attempt, failureMessage(reply.error))
  connection.lost()
  return undefined
}

/**
 * Records an accepted scan, because the stored list does not contain it and would accept the pass again offline.
 * Returns an error text or `null`.
 */
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

/** Evaluates with the stored list, by the same rules as the server. */
export function evaluateByList(
  attempt: Attempt,
  { list, store, station }: { list: DoorSnapshot; store: DoorStore; station: Station },
): ReturnType<typeof evaluateOffline> {
  const digest = attempt.payload === null ? null : identifierDigest(attempt.payload).toString('hex')
  const found = attempt.passId === null ? list.find(digest!).items : [list.get(attempt.passId) ?? []].flat()
  const matches = matchesOf(attempt, found, digest)
  const groupId = matches.items.length === 1 ? matches.items[0]!.groupId : undefined
  return evaluateOffline(attempt, {
    snapshotId: list.id,
    matches,
    members: groupId === undefined ? [] : list.membersOf(groupId),
    acceptedScansOf: (item) => store.acceptedScans(item.passId, item.acceptedScans, list.generatedAt),
    station,
    language: { ...doorEnglish, zone: clockZone() },
  })
}
