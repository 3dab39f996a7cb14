import type { Client } from '../../client/client.ts'
import type { ScanAnswer } from '../../core/contract/scan-shapes.ts'
import { ScanCreate } from '../../core/contract/scans.ts'
import { ask } from './ask.ts'
import type { Connection } from './connection.ts'
import type { ListKeeper } from './offline/list-keeper.ts'
import { evaluateOffline } from './offline/offline.ts'
import type { DoorStore } from './offline/store.ts'
import { type Attempt, failedOutcome, failureMessage, type Outcome, outcomeOfAnswer, type Station } from './outcome.ts'

export interface JudgeOptions {
  client: Client
  store: DoorStore
  connection: Connection
  lists: ListKeeper
  station: Station
}

/** The verdict on an attempt: the server's, or where it does not answer that of the stored list. It never throws. */
export async function judge(attempt: Attempt, options: JudgeOptions): Promise<Outcome> {
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
    const { outcome, verdict } = evaluateOffline(attempt, { list: lists.list, store, station })
    store.append(verdict)
    return outcome
  } catch (error) {
    return failedOutcome(attempt, `Not judged: ${failureMessage(error)}`)
  }
}

async function evaluateOnline(
  attempt: Attempt,
  body: ScanCreate,
  { client, connection, store }: JudgeOptions,
): Promise<Outcome | undefined> {
  const reply = await ask((options) => client.scans.create({ body }, options))
  if (reply.kind === 'answer') {
    const outcome = outcomeOfAnswer(attempt, reply.value)
    const problem = remember(attempt, reply.value, store)
    return problem === null ? outcome : { ...outcome, message: `${outcome.message} (${problem})` }
  }
  if (reply.kind === 'refusal') return failedOutcome(attempt, failureMessage(reply.error))
  connection.lost()
  return undefined
}

/** The stored list does not know of it; without the server the pass would be let in again. Null, or what went wrong. */
function remember({ validityDate }: Attempt, { result, scan }: ScanAnswer, store: DoorStore): string | null {
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

function whyNoList({ refusal }: ListKeeper): string {
  return refusal === null ? 'there is no stored list to go on with' : `scanning offline is not possible (${refusal})`
}
