import { RescheduleError } from '../../core/errors.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { BroadcastClass, ClassOutcome } from '../../storage/messages/broadcast-classes.ts'
import type { StoredNotification } from '../../storage/messages/notification-row.ts'
import type { NotificationChange } from '../../storage/messages/notifications-repository.ts'
import type { SentObject } from '../../storage/passes/google-objects.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import { GoogleApiError } from '../../wallets/google/api/api-error.ts'
import { buildMessage, sendMessage } from '../../wallets/google/messages.ts'
import { idOf } from '../../wallets/google/resource.ts'
import type { GoogleSync } from '../wallet-sync/google-sync.ts'
import type { GoogleServices } from '../wallet-sync/platform-calls.ts'

export interface Message {
  job: Job
  notification: StoredNotification
  pass: StoredPass
  /** The Google object of the pass if the message is sent to a whole class; null if it is sent only to this pass. */
  place: SentObject | null
}

/** The result of a message, with the `change` of its notification. Without a `change`, the message is retried. */
export interface Outcome {
  change?: NotificationChange
  error?: unknown
}

/** The messages of a broadcast to passes of one class and identity. One message to the class replaces them. */
interface ClassGroup {
  broadcastId: string
  place: SentObject
  messages: Message[]
}

export function byClass(messages: Message[]): { classes: ClassGroup[]; own: Message[] } {
  const groups = new Map<string, ClassGroup>()
  const own: Message[] = []
  for (const message of messages) {
    const { notification, place } = message
    const { broadcastId } = notification
    if (place === null || broadcastId === null || notification.google.status !== 'PENDING') {
      own.push(message)
      continue
    }
    const key = `${broadcastId} ${place.classSuffix}`
    const group = groups.get(key) ?? { broadcastId, place, messages: [] }
    groups.set(key, group)
    group.messages.push(message)
  }
  return { classes: [...groups.values()], own }
}

interface ClassSending extends Outcome {
  messages: Message[]
  note?: (tx: Repositories) => Promise<void>
}

/**
 * The time after which the process that sends a class message counts as stopped. The API calls for a class message take
 * less time, even with retries and waits for the rate limit.
 */
const SENDING_MS = 60_000

/**
 * Sends a broadcast to a class as one message. The first job sends the message, with the same ID in every attempt. The
 * outcome applies to all passes of the class.
 */
export async function sendToClass(
  workspaceId: string,
  group: ClassGroup,
  { store, clock }: GoogleServices,
  attempt: (message: Message, call: (google: GoogleSync) => Promise<void>) => Promise<Outcome>,
): Promise<ClassSending> {
  const { broadcastId, place, messages } = group
  // Use the job with the most attempts, so that no job is discarded while the class message is still retried.
  const message = messages.reduce((most, one) => (one.job.attempts > most.job.attempts ? one : most))
  const { pass, notification } = message
  const ofClass: BroadcastClass = {
    broadcastId,
    identityId: pass.googleIdentityId,
    classSuffix: place.classSuffix,
  }
  const known = await store.broadcastClasses.findOutcome(workspaceId, ofClass)
  if (known) return { messages, change: { google_status: known.status, google_error: known.error } }
  const at = clock()
  const times = { at, until: new Date(at.getTime() + SENDING_MS) }
  const turn = await store.statement((tx) => tx.broadcastClasses.insertTurn(workspaceId, ofClass, times))
  if (turn === 'busy') return { messages, error: heldBack() }
  const mayBeThere = turn === 'again'
  const { body, options } = notification
  const written = { id: broadcastId, header: options.google?.header, body, mayBeThere, isBulk: true }
  const outcome = await attempt(message, (google) => messageClass(google, { pass, place }, written))
  const { google_status: status, google_error: error = null } = outcome.change ?? {}
  return {
    messages,
    ...outcome,
    note: (tx) =>
      status === undefined
        ? tx.broadcastClasses.nack(workspaceId, ofClass)
        : tx.broadcastClasses.settle(workspaceId, ofClass, { status, error } as ClassOutcome),
  }
}

function heldBack(): RescheduleError {
  return new RescheduleError('Another job is sending the broadcast to this Google Wallet class.', {
    retryAfterSeconds: 1,
    countsAsAttempt: false,
  })
}

/** Shows a text on all passes of a class. If Google lacks the class, and `pass` defines it, creates the class first. */
async function messageClass(
  google: GoogleSync,
  { pass, place }: Pick<Message, 'pass'> & { place: SentObject },
  { mayBeThere, ...written }: Parameters<GoogleSync['message']>[1],
): Promise<void> {
  const { api, wallet } = await google.sideOf(pass)
  const rendered = await google.render(pass)
  const { kind } = place
  const id = idOf(wallet, place.classSuffix)
  const message = buildMessage(
    { card: rendered.templateCard, translations: rendered.templateTranslations ?? [] },
    written,
  )
  const send = (options: { mayBeThere: boolean }) =>
    sendMessage(api.bulk, { role: 'Class', kind, id }, message, options)
  try {
    await send({ mayBeThere })
  } catch (error) {
    const made = wallet.classOf(rendered)
    if (!(error instanceof GoogleApiError && error.kind === 'missing') || made.id !== id) throw error
    await api.bulk.insertClass(kind, made)
    await send({ mayBeThere: false })
  }
}
