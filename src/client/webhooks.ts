import { verify as verifySignature } from '../core/rules/crypto/signature.ts'
import type { EventData, EventType, RejectionReason, SignatureCheck } from './types.ts'

/** The verifier of webhook deliveries, for receivers: the `./webhooks` export of the package. No dependencies. */

interface Envelope<T extends EventType> {
  /** The ID of the delivery, the same in all attempts and redeliveries. Store it to process each event only once. */
  id: string
  type: T
  /** The creation time of the delivery; ISO 8601, UTC. */
  timestamp: string
  /** The correlation ID of the request or job that caused the delivery. */
  correlationId: string | null
  data: EventData[T]
}

/** An event: the body of a delivery. Distinguish events by `type`, and ignore unknown types. */
export type WebhookEvent = { [T in EventType]: Envelope<T> }[EventType]

/** Options of the verification. */
export interface VerifyOptions {
  /** The maximum difference between the time of the signature and `now`, in seconds; 300 by default. */
  toleranceSeconds?: number
  /** The time of the verification, as a date or in unix seconds; the current time by default. */
  now?: Date | number
}

/** A delivery that must not be trusted. Respond with 400, and do not process the event. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError'
  readonly reason: RejectionReason
  /** A suggestion of what to check. Write it to your log. */
  readonly hint: string | undefined

  constructor({ reason, message, hint }: Extract<SignatureCheck, { ok: false }>) {
    super(message)
    this.reason = reason
    this.hint = hint
  }
}

/**
 * Verifies a delivery and returns its event.
 * @param rawBody the exact body as received, before any JSON parser
 * @param header the value of X-Service-Signature
 * @param secret the endpoint's whole signing secret, including `whsec_`
 * @throws WebhookVerificationError with the reason; TypeError for invalid arguments
 */
export function verify(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string,
  { toleranceSeconds, now = new Date() }: VerifyOptions = {},
): WebhookEvent {
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array)) {
    throw new TypeError('rawBody must be the body as received (a string or bytes), not the result of a body parser')
  }
  if (typeof secret !== 'string' || secret === '') throw new TypeError("secret must be the webhook's signing secret")
  if (Number.isNaN(toleranceSeconds)) throw new TypeError('toleranceSeconds must be a number')
  const at = typeof now === 'number' ? new Date(now * 1000) : now
  if (Number.isNaN(at.getTime())) throw new TypeError('now must be a Date or a number of unix seconds')
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  const decision = verifySignature(rawBody, text, secret, { at, toleranceSeconds })
  if (!decision.ok) throw new WebhookVerificationError(decision)
  return JSON.parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody)) as WebhookEvent
}
