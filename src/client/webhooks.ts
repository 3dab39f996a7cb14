import type { EventData, eventTypes } from '../core/events.ts'
import { type RejectionReason, type SignatureCheck, verify as verifySignature } from '../core/rules/crypto/signature.ts'

/** What receivers of webhooks need, without any dependency: the `./webhooks` export of the package. */

type EventType = (typeof eventTypes)[number]

interface Envelope<T extends EventType> {
  /** Of the delivery; the same in every attempt and redelivery, so remember it to act once. */
  id: string
  type: T
  /** When the delivery was made; ISO 8601, UTC. */
  timestamp: string
  /** Ties the delivery to the request or job that caused it. */
  correlationId: string | null
  data: T extends keyof EventData ? EventData[T] : Record<string, unknown>
}

/** One event, the body of a delivery. Told apart by `type`; leave types that you do not know alone. */
export type WebhookEvent = { [T in EventType]: Envelope<T> }[EventType]

/** How the signature of a delivery is verified. */
export interface VerifyOptions {
  /** How far the signature's time may lie from now, on either side: 300 where nothing else is said. */
  toleranceSeconds?: number
  /** The time to evaluate by, a number in unix seconds; the clock where nothing else is said. */
  now?: Date | number
}

/** The delivery is not to be trusted: answer 400 and do nothing else. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: RejectionReason
  /** What to look at, for the log. */
  readonly hint: string | undefined

  constructor({ reason, message, hint }: Extract<SignatureCheck, { ok: false }>) {
    super(message)
    this.reason = reason
    this.hint = hint
  }
}

/**
 * Checks a delivery and gives its event.
 * @param rawBody the bytes exactly as they came, not parsed and serialised again
 * @param header the value of X-Service-Signature
 * @param secret the endpoint's whole signing secret, `whsec_` included
 * @throws WebhookVerificationError with the reason; TypeError where it is called wrongly
 */
export function verify(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string,
  { toleranceSeconds, now = new Date() }: VerifyOptions = {},
): WebhookEvent {
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError('rawBody must be the body as it came, a string or bytes; a body parser must not touch it')
  }
  if (typeof secret !== 'string' || secret === '') throw new TypeError('secret must be the signing secret')
  if (Number.isNaN(toleranceSeconds)) throw new TypeError('toleranceSeconds must be a number')
  const at = typeof now === 'number' ? new Date(now * 1000) : now
  if (Number.isNaN(at.getTime())) throw new TypeError('now must be a Date or a number of unix seconds')
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  const decision = verifySignature(rawBody, text, secret, { at, toleranceSeconds })
  if (!decision.ok) throw new WebhookVerificationError(decision)
  return JSON.parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody)) as WebhookEvent
}
