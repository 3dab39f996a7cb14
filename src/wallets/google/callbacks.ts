import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { Dispatcher } from 'undici'
import { z } from 'zod'
import { GoogleApiError } from './api/api-error.ts'
import { type HttpReply, send } from './api/http.ts'
import { parseAs } from './resource.ts'

/** Tells callbacks of Google from those of anybody else, for one issuer. */
export interface CallbackVerifier {
  /**
   * Whether the parsed body of a request is a callback from Google, and what it says.
   * @throws GoogleApiError where Google's root keys cannot be had: no fault of whoever sent it
   */
  verify(body: unknown, at: Date): Promise<CallbackCheck>
}

/** Looks for new root keys before it refuses a callback because of the ones that it knows. */
export function createCallbackVerifier(issuerId: string, rootKeys: RootKeys): CallbackVerifier {
  return {
    async verify(body, at) {
      const check = verifyCallback({ body, issuerId, rootKeys: await rootKeys.current(), at })
      if (check.ok || check.reason !== 'intermediate key not signed by a root key') return check
      return verifyCallback({ body, issuerId, rootKeys: await rootKeys.refreshed(), at })
    },
  }
}

/** A person saved the pass to a phone, deleted it there, or activated it: transit tickets can be. */
export interface CallbackMessage {
  classId: string
  objectId: string
  eventType: 'save' | 'del' | 'activate'
  /** The same in every repetition of one message, and in no other. */
  nonce: string
  expTimeMillis: number
}

/** Why a callback is taken for none of Google's; for the log, since who sends it is told nothing. */
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

/** What a callback is verified by. */
export interface CallbackFacts {
  /** The parsed body of the request, whatever it is. */
  body: unknown
  issuerId: string
  rootKeys: SigningKey[]
  at: Date
}

const SENDER = 'GooglePayPasses'
const PROTOCOL = 'ECv2SigningOnly'

const Signature = z.string().max(512)

/** Signatures cover the two signed texts as they stand, so these are parsed only once they are known to be genuine. */
const Envelope = z.object({
  protocolVersion: z.string().max(64),
  signature: Signature,
  intermediateSigningKey: z.object({
    signedKey: z.string().max(4096),
    signatures: z.array(Signature).max(8),
  }),
  signedMessage: z.string().max(16_384),
})

// Later than that there is no Date, and a key with an invalid one would never be seen to expire.
const LAST_MOMENT = 8.64e15

/** A moment in milliseconds since 1970, which Google writes as a number or as its digits. */
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

/** Whether Google sent this to this issuer, and what it says. Never throws. */
export function verifyCallback({ body, issuerId, rootKeys, at }: CallbackFacts): CallbackCheck {
  const { data: envelope } = Envelope.safeParse(body)
  if (!envelope) return refuse('malformed envelope')
  if (envelope.protocolVersion !== PROTOCOL) return refuse('unknown protocol version')

  const { signedKey, signatures } = envelope.intermediateSigningKey
  const roots = rootKeys.filter(({ expiresAt }) => at < expiresAt)
  const isSigned = signatures.some((signature) =>
    roots.some((root) => isGenuine(root, signature, [SENDER, PROTOCOL, signedKey])),
  )
  if (!isSigned) return refuse('intermediate key not signed by a root key')

  const keyJson = parseAs(SigningKeyJson, signedKey)
  const intermediate = keyJson && parseSigningKey(keyJson)
  if (!intermediate) return refuse('malformed intermediate key')
  if (at >= intermediate.expiresAt) return refuse('expired intermediate key')

  if (!isGenuine(intermediate, envelope.signature, [SENDER, issuerId, PROTOCOL, envelope.signedMessage])) {
    return refuse('message not signed by the intermediate key for this issuer')
  }
  const message = parseAs(Message, envelope.signedMessage)
  if (!message) return refuse('malformed message')
  if (at.getTime() >= message.expTimeMillis) return refuse('expired message')
  if (!belongsTo(issuerId, message.classId) || !belongsTo(issuerId, message.objectId)) {
    return refuse('class or object of another issuer')
  }
  return { ok: true, message }
}

function refuse(reason: CallbackRejection): CallbackCheck {
  return { ok: false, reason }
}

function isGenuine({ publicKey }: SigningKey, signature: string, parts: string[]): boolean {
  return verify('sha256', Buffer.concat(parts.map(lengthValue)), publicKey, Buffer.from(signature, 'base64'))
}

/** The length in bytes, little-endian, and then the text. */
function lengthValue(text: string): Buffer {
  const value = Buffer.from(text, 'utf8')
  const length = Buffer.alloc(4)
  length.writeUInt32LE(value.length)
  return Buffer.concat([length, value])
}

function belongsTo(issuerId: string, id: string): boolean {
  return id.startsWith(`${issuerId}.`) && /^\d+\.[\w.-]+$/.test(id)
}

/** How Google names a key of its callbacks: the root keys and the intermediate one alike. */
const SigningKeyJson = z.object({ keyValue: z.string().max(1024), keyExpiration: Millis })

/** A key that Google signs with, until it expires. */
export interface SigningKey {
  publicKey: KeyObject
  expiresAt: Date
}

/** undefined for anything but a public key on the curve P-256. */
function parseSigningKey({ keyValue, keyExpiration }: z.output<typeof SigningKeyJson>): SigningKey | undefined {
  let publicKey: KeyObject
  try {
    publicKey = createPublicKey({ key: Buffer.from(keyValue, 'base64'), format: 'der', type: 'spki' })
  } catch {
    // Not a key at all: to the caller no different from one on another curve.
    return undefined
  }
  if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined
  return { publicKey, expiresAt: new Date(keyExpiration) }
}

const ROOT_KEYS_URL = 'https://pay.google.com/gp/m/issuer/keys'

/** The keys that vouch for callbacks. Callers at the same time share one request. */
interface RootKeys {
  /**
   * The keys that are not expired, fetched anew when the cache has aged; the old ones where that fails.
   * @throws GoogleApiError of the kind unavailable (or as Google answers) where there are none yet
   */
  current(): Promise<SigningKey[]>
  /** The same for a callback that no known key vouches for: asks again, at most once a minute. */
  refreshed(): Promise<SigningKey[]>
}

/** Where Google's root keys are had. */
export interface RootKeysOptions {
  /** Read anew for each request; Google's own by default. */
  url?: string
  dispatcher?: Dispatcher
  clock: () => Date
}

const MIN_INTERVAL_MS = 60_000

const KeysFile = z.object({ keys: z.array(z.unknown()).max(100) })
const RootKeyJson = SigningKeyJson.extend({ protocolVersion: z.literal('ECv2SigningOnly') })

/** Google's root keys for callbacks, kept until they expire: see RootKeys. */
export function createRootKeys(options: RootKeysOptions): RootKeys {
  const { dispatcher, clock } = options
  let keys: SigningKey[] | undefined
  let freshUntil = 0
  let askedAt = Number.NEGATIVE_INFINITY
  let asking: Promise<void> | undefined

  const now = () => clock().getTime()
  const mayAsk = () => keys === undefined || now() - askedAt >= MIN_INTERVAL_MS

  async function ask(): Promise<void> {
    askedAt = now()
    const reply = await send({ method: 'GET', url: options.url ?? ROOT_KEYS_URL }, { dispatcher })
    keys = parseRootKeys(reply.text)
    freshUntil = askedAt + maxAgeSeconds(reply) * 1000
  }

  async function askTogether(): Promise<SigningKey[]> {
    asking ??= ask().finally(() => {
      asking = undefined
    })
    await asking.catch((error: unknown) => {
      // Keys that were good a while ago are so until they expire.
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

/** The keys of the file that can be used; ones of other protocols or curves stand there too. */
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
