import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import { GoogleApiError } from './api/api-error.ts'
import { type HttpReply, send } from './api/http.ts'
import { parseAs } from './resource.ts'

export interface CallbackVerifier {
  /** @throws GoogleApiError if Google's root keys are not available, which is not the sender's fault */
  verify(body: unknown, at: Date): Promise<CallbackCheck>
}

/** Creates a verifier. It fetches the root keys again before it rejects a callback that no known root key signed. */
export function createCallbackVerifier(issuerId: string, rootKeys: RootKeys): CallbackVerifier {
  return {
    async verify(body, at) {
      const check = verifyCallback({ body, issuerId, rootKeys: await rootKeys.current(), at })
      if (check.ok || check.reason !== 'intermediate key not signed by a root key') return check
      return verifyCallback({ body, issuerId, rootKeys: await rootKeys.refreshed(), at })
    },
  }
}

/** The message that a user saved a pass, deleted it, or activated it (transit tickets only). */
export interface CallbackMessage {
  classId: string
  objectId: string
  eventType: 'save' | 'del' | 'activate'
  /** The ID of the message. It stays the same if Google sends the message again. */
  nonce: string
  expTimeMillis: number
}

/** The reason why a callback is rejected, for the log. The sender gets no reason. */
export type CallbackRejection =
  | 'malformed envelope'
  | 'unknown protocol version'
  | 'intermediate key not signed by a root key'
  | 'malformed intermediate key'
  | 'expired intermediate key'
  | 'message not signed by the intermediate key for this issuer'
  | 'malformed message'
  | 'expired message'
  | 'class or object of another issuer'

type CallbackCheck = { ok: true; message: CallbackMessage } | { ok: false; reason: CallbackRejection }

export interface CallbackFacts {
  body: unknown
  issuerId: string
  rootKeys: SigningKey[]
  at: Date
}

const SENDER = 'GooglePayPasses'
const PROTOCOL = 'ECv2SigningOnly'

const Signature = z.string().max(512)

/** A callback. Its two signed texts are parsed only after their signatures are verified. */
const Envelope = z.object({
  protocolVersion: z.string().max(64),
  signature: Signature,
  intermediateSigningKey: z.object({
    signedKey: z.string().max(4096),
    signatures: z.array(Signature).max(8),
  }),
  signedMessage: z.string().max(16_384),
})

// The latest time that a Date can have. Reject a later expiry: with an invalid Date, the key would never expire.
const LAST_MOMENT = 8.64e15

/** A time in milliseconds since 1970, which Google writes as a number or as text. */
const Millis = z.union([
  z.int().nonnegative().max(LAST_MOMENT),
  z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number),
])

const Message = z.object({
  classId: z.string().max(255),
  objectId: z.string().max(255),
  eventType: z.enum(['save', 'del', 'activate']),
  nonce: z.string().min(1).max(255),
  expTimeMillis: Millis,
})

/** Checks whether Google sent the callback to this issuer, and returns the message. Never throws. */
export function verifyCallback({ body, issuerId, rootKeys, at }: CallbackFacts): CallbackCheck {
  const { data: envelope } = Envelope.safeParse(body)
  if (!envelope) return reject('malformed envelope')
  if (envelope.protocolVersion !== PROTOCOL) return reject('unknown protocol version')

  const { signedKey, signatures } = envelope.intermediateSigningKey
  const roots = rootKeys.filter(({ expiresAt }) => at < expiresAt)
  const isSigned = signatures.some((signature) =>
    roots.some((root) => isGenuine(root, signature, [SENDER, PROTOCOL, signedKey])),
  )
  if (!isSigned) return reject('intermediate key not signed by a root key')

  const keyJson = parseAs(SigningKeyJson, signedKey)
  const intermediate = keyJson && parseSigningKey(keyJson)
  if (!intermediate) return reject('malformed intermediate key')
  if (at >= intermediate.expiresAt) return reject('expired intermediate key')

  if (!isGenuine(intermediate, envelope.signature, [SENDER, issuerId, PROTOCOL, envelope.signedMessage])) {
    return reject('message not signed by the intermediate key for this issuer')
  }
  const message = parseAs(Message, envelope.signedMessage)
  if (!message) return reject('malformed message')
  if (at.getTime() >= message.expTimeMillis) return reject('expired message')
  if (!belongsTo(issuerId, message.classId) || !belongsTo(issuerId, message.objectId)) {
    return reject('class or object of another issuer')
  }
  return { ok: true, message }
}

function reject(reason: CallbackRejection): CallbackCheck {
  return { ok: false, reason }
}

function isGenuine({ publicKey }: SigningKey, signature: string, parts: string[]): boolean {
  return verify('sha256', Buffer.concat(parts.map(lengthValue)), publicKey, Buffer.from(signature, 'base64'))
}

function lengthValue(text: string): Buffer {
  const value = Buffer.from(text, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32LE(value.length)
  return Buffer.concat([length, value])
}

function belongsTo(issuerId: string, id: string): boolean {
  return id.startsWith(`${issuerId}.`) && /^\d+\.[\w.-]+$/.test(id)
}

const SigningKeyJson = z.object({ keyValue: z.string().max(1024), keyExpiration: Millis })

export interface SigningKey {
  publicKey: KeyObject
  expiresAt: Date
}

/** Returns `undefined` for anything except a public key on the curve P-256. */
function parseSigningKey({ keyValue, keyExpiration }: z.output<typeof SigningKeyJson>): SigningKey | undefined {
  let publicKey: KeyObject
  try {
    publicKey = createPublicKey({ key: Buffer.from(keyValue, 'base64'), format: 'der', type: 'spki' })
  } catch {
    // The value is not a key, so ignore it like a key on another curve.
    return undefined
  }
  if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
  return { publicKey, expiresAt: new Date(keyExpiration) }
}

const ROOT_KEYS_URL = 'https://pay.google.com/gp/m/issuer/keys'

interface RootKeys {
  /**
   * Returns the keys. After their cache time, fetches them again; if the fetch fails, the old keys stay in use.
   * @throws GoogleApiError if no keys were ever fetched
   */
  current(): Promise<SigningKey[]>
  /** Fetches the keys again, but at most once a minute. Called for a callback that no known key signed. */
  refreshed(): Promise<SigningKey[]>
}

export interface RootKeysOptions {
  /** The URL of the keys. Default: Google's. It can change, so the property is read for each request. */
  url?: string
  clock: () => Date
}

const MIN_INTERVAL_MS = 60_000

const KeysFile = z.object({ keys: z.array(z.unknown()).max(100) })
const RootKeyJson = SigningKeyJson.extend({ protocolVersion: z.literal('ECv2SigningOnly') })

export function createRootKeys(options: RootKeysOptions): RootKeys {
  const { clock } = options
  let keys: SigningKey[] | undefined
  let freshUntil = 0
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  const now = () => clock().getTime()
  const mayAsk = () => keys === undefined || now() - askedAt >= MIN_INTERVAL_MS

  async function ask(): Promise<void> {
    askedAt = now()
    const reply = await send({ method: 'GET', url: options.url ?? ROOT_KEYS_URL }, {})
    keys = parseRootKeys(reply.text)
    freshUntil = askedAt + maxAgeSeconds(reply) * 1000
  }

  async function askTogether(): Promise<SigningKey[]> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking.catch((error: unknown) => {
      // If the fetch failed, keep the old keys, which are valid until they expire.
      if (keys === undefined) throw error
    })
    return unexpired()
  }

  function unexpired(): SigningKey[] {
    const at = clock()
    return (keys ?? []).filter(({ expiresAt }) => at < expiresAt)
  }

  return {
    current: async () => (now() >= freshUntil && (asking || mayAsk()) ? askTogether() : unexpired()),
    refreshed: async () => (asking || mayAsk() ? askTogether() : unexpired()),
  }
}

/** Parses the usable keys in the file. The other keys in the file are for other protocols or on other curves. */
function parseRootKeys(text: string): SigningKey[] {
  const keys = (parseAs(KeysFile, text)?.keys ?? []).flatMap((value) => {
    const { data } = RootKeyJson.safeParse(value)
    return (data && parseSigningKey(data)) ?? []
  })
  if (keys.length === 0) throw new GoogleApiError({ kind: 'unavailable', message: 'Google published no root keys.' })
  return keys
}

function maxAgeSeconds({ headers }: HttpReply): number {
  return Number(/(?:^|[\s,])max-age=(\d{1,9})/i.exec(String(headers['cache-control']))?.[1] ?? 0)
}
