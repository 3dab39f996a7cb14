import { createHmac, type Hmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'
import { parseJson } from '../../json.ts'

/**
 * The signature of webhook deliveries: `t=<unix seconds>,v1=<hex>`. v1 is the HMAC-SHA256 of `<t>.<raw body>`, keyed
 * with the whole secret, including `whsec_`. During the rotation of a secret, the signature has one v1 per valid
 * secret. A receiver accepts the delivery if any v1 matches.
 */

export const SIGNATURE_HEADER = 'X-Service-Signature'

/** Returns a new signing secret with 256 random bits. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`
}

/** The default maximum difference between the time of a signature and the clock of the receiver, in seconds. */
export const TOLERANCE_SECONDS = 300

export type RejectionReason = 'malformed_header' | 'wrong_secret' | 'body_changed' | 'too_old' | 'too_new'

export type SignatureCheck =
  | { ok: true; signedAt: Date }
  /** `message` explains the problem in one sentence. `hint` suggests what to check. */
  | { ok: false; reason: RejectionReason; message: string; hint?: string }

export interface VerifyOptions {
  at: Date
  toleranceSeconds?: number
}

type Rejection = Extract<SignatureCheck, { ok: false }>

interface Signature {
  /** The time as text. The signature covers exactly these characters. */
  t: string
  tags: Buffer[]
}

/**
 * Returns the signature header of a body.
 * @param secrets the valid secrets, newest first, at least one; `KeyObject`s are faster than texts for many bodies
 */
export function sign(rawBody: string | Uint8Array, secrets: readonly (string | KeyObject)[], at: Date): string {
  const t = String(unixSeconds(at))
  return [`t=${t}`, ...secrets.map((secret) => `v1=${hmacOf(t, rawBody, secret).digest('hex')}`)].join(',')
}

/** Checks the signature of a delivery, and then its time. The time proves nothing unless it is signed. */
export function verify(
  rawBody: string | Uint8Array,
  header: string,
  secret: string,
  { at, toleranceSeconds = TOLERANCE_SECONDS }: VerifyOptions,
): SignatureCheck {
  const signature = parseHeader(header)
  if ('reason' in signature) return signature
  if (!isSignedBy(signature, rawBody, secret)) return explainMismatch(signature, Buffer.from(rawBody), secret)
  const age = unixSeconds(at) - Number(signature.t)
  if (Math.abs(age) <= toleranceSeconds) return { ok: true, signedAt: new Date(Number(signature.t) * 1000) }
  return outsideWindow(age, toleranceSeconds)
}

const MAX_HEADER_LENGTH = 2048
const TIME = /^(0|[1-9]\d{0,11})$/
const TAG = /^[0-9a-f]{64}$/i

/** Ignores unknown elements, so that future versions can add some. */
function parseHeader(header: string): Signature | Rejection {
  if (header === '') return malformed('is missing')
  if (header.length > MAX_HEADER_LENGTH) return malformed('is too long')
  const elements = header.split(',').map((element) => element.trim())
  if (!elements.every((element) => /^\w+=/.test(element))) return malformed('does not consist of name=value pairs')
  const valuesOf = (name: string) =>
    elements.filter((element) => element.startsWith(`${name}=`)).map((element) => element.slice(name.length + 1))
  const [times, tags] = [valuesOf('t'), valuesOf('v1')]
  if (times.length !== 1) return malformed(times.length === 0 ? 'has no t' : 'has more than one t')
  if (!TIME.test(times[0]!)) return malformed('has a t that is not a time in unix seconds')
  if (tags.length === 0) return malformed('has no v1')
  if (!tags.every((tag) => TAG.test(tag))) return malformed('has a v1 that is not 64 hexadecimal digits')
  return { t: times[0]!, tags: tags.map((tag) => Buffer.from(tag, 'hex')) }
}

function malformed(problem: string): Rejection {
  const hint = `The format of the header ${SIGNATURE_HEADER} is t=1767225600,v1=<64 hexadecimal digits>.`
  return { ok: false, reason: 'malformed_header', message: `The signature header ${problem}.`, hint }
}

/** Whether any v1 signs the body. Compares every v1: otherwise, the run time would show which v1 matches. */
function isSignedBy({ t, tags }: Signature, rawBody: string | Uint8Array, secret: string): boolean {
  const expected = hmacOf(t, rawBody, secret).digest()
  return tags.filter((tag) => timingSafeEqual(tag, expected)).length > 0
}

function outsideWindow(age: number, toleranceSeconds: number): Rejection {
  const accepted = `at most ${toleranceSeconds} s are allowed.`
  if (age < 0) {
    const message = `The signature is ${-age} s in the future, but ${accepted}`
    return { ok: false, reason: 'too_new', message, hint: 'Check whether the clock of the receiver is slow.' }
  }
  const message = `The signature is ${age} s old, but ${accepted}`
  return {
    ok: false,
    reason: 'too_old',
    message,
    hint: 'Check for a replay, or whether the clock of the receiver is fast.',
  }
}

/** The maximum size of a body whose mismatch is explained, in bytes. The server never sends larger bodies. */
const MAX_EXPLAINED_BYTES = 256 * 1024

/** Removes the newlines at the end of a text. A regular expression would take quadratic time for many newlines. */
function withoutNewlines(text: string): string {
  let end = text.length
  while (end > 0 && '\r\n'.includes(text[end - 1]!)) end -= 1
  return text.slice(0, end)
}

/** Common ways in which a body is changed before the check, each with a function that undoes the change. */
const changes: readonly { what: string; undo: (body: Buffer) => string | Uint8Array | undefined }[] = [
  { what: 'a newline was added at its end', undo: (body) => withoutNewlines(body.toString()) },
  { what: 'a byte order mark was added at its start', undo: (body) => body.toString().replace(/^\uFEFF/, '') },
  { what: 'its JSON was parsed and serialized again', undo: (body) => JSON.stringify(parseJson(body.toString())) },
  { what: 'it was encoded as a JSON string', undo: (body) => textIn(parseJson(body.toString())) },
  { what: 'its UTF-8 was decoded as Latin-1', undo: (body) => Buffer.from(body.toString(), 'latin1') },
]

function explainMismatch(signature: Signature, body: Buffer, secret: string): Rejection {
  const isSigned = (bytes: string | Uint8Array | undefined, key = secret) =>
    bytes !== undefined && isSignedBy(signature, bytes, key)
  const isSmall = body.length <= MAX_EXPLAINED_BYTES
  const change = isSmall ? changes.find(({ undo }) => isSigned(undo(body))) : undefined
  if (change) return bodyChanged(`The body was changed after it was signed: ${change.what}.`)
  if ([secret.trim(), `whsec_${secret.trim()}`].some((key) => isSigned(body, key))) {
    const hint = 'Use the whole secret, including whsec_, and nothing before or after it.'
    return { ok: false, reason: 'wrong_secret', message: 'The secret differs from the issued secret.', hint }
  }
  // Deliveries are compact JSON. Any other body was changed, even if the secret is also wrong.
  if (isSmall && JSON.stringify(parseJson(body.toString())) !== body.toString()) {
    const what = body.length === 0 ? 'it is empty' : 'it is not compact JSON'
    return bodyChanged(`The body was changed after it was signed: ${what}.`)
  }
  return {
    ok: false,
    reason: 'wrong_secret',
    message: 'No signature matches. The secret probably belongs to another endpoint.',
    hint: 'Check the endpoint and its last rotation. If the secret is right, the body was changed.',
  }
}

function bodyChanged(message: string): Rejection {
  const hint = 'Verify the raw bytes before any parser: JSON that is serialized again has a different signature.'
  return { ok: false, reason: 'body_changed', message, hint }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function hmacOf(t: string, rawBody: string | Uint8Array, secret: string | KeyObject): Hmac {
  return createHmac('sha256', secret).update(`${t}.`).update(rawBody)
}

function unixSeconds(at: Date): number {
  return Math.floor(at.getTime() / 1000)
}
