import { verify } from 'node:crypto'
import { z } from 'zod'
import { parseJson } from '../json.ts'
import { Millis, parseSigningKey, type SigningKey, SigningKeyJson } from '../signing-key.ts'

/** A person saved the pass to a phone, deleted it there, or activated it: transit tickets can be. */
export interface CallbackMessage {
  classId: string
  objectId: string
  eventType: 'save' | 'del' | 'activate'
  /** The same in every repetition of one message, and in no other. */
  nonce: string
  expTimeMillis: number
}

export type CallbackRefusal =
  | 'malformed envelope'
  | 'unknown protocol version'
  | 'intermediate key not signed by a root key'
  | 'malformed intermediate key'
  | 'expired intermediate key'
  | 'message not signed by the intermediate key for this issuer'
  | 'malformed message'
  | 'expired message'
  | 'class or object of another issuer'

export type CallbackVerdict = { ok: true; message: CallbackMessage } | { ok: false; reason: CallbackRefusal }

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

const Message = z.object({
  classId: z.string().max(255),
  objectId: z.string().max(255),
  eventType: z.enum(['save', 'del', 'activate']),
  nonce: z.string().min(1).max(255),
  expTimeMillis: Millis,
})

/** Whether Google sent this to this issuer, and what it says. Never throws. */
export function verifyCallback({ body, issuerId, rootKeys, at }: CallbackFacts): CallbackVerdict {
  const { data: envelope } = Envelope.safeParse(body)
  if (!envelope) return refuse('malformed envelope')
  if (envelope.protocolVersion !== PROTOCOL) return refuse('unknown protocol version')

  const { signedKey, signatures } = envelope.intermediateSigningKey
  const roots = rootKeys.filter(({ expiresAt }) => at < expiresAt)
  const isSigned = signatures.some((signature) =>
    roots.some((root) => isGenuine(root, signature, [SENDER, PROTOCOL, signedKey])),
  )
  if (!isSigned) return refuse('intermediate key not signed by a root key')

  const keyJson = parseJson(SigningKeyJson, signedKey)
  const intermediate = keyJson && parseSigningKey(keyJson)
  if (!intermediate) return refuse('malformed intermediate key')
  if (at >= intermediate.expiresAt) return refuse('expired intermediate key')

  if (!isGenuine(intermediate, envelope.signature, [SENDER, issuerId, PROTOCOL, envelope.signedMessage])) {
    return refuse('message not signed by the intermediate key for this issuer')
  }
  const message = parseJson(Message, envelope.signedMessage)
  if (!message) return refuse('malformed message')
  if (at.getTime() >= message.expTimeMillis) return refuse('expired message')
  if (!belongsTo(issuerId, message.classId) || !belongsTo(issuerId, message.objectId)) {
    return refuse('class or object of another issuer')
  }
  return { ok: true, message }
}

function refuse(reason: CallbackRefusal): CallbackVerdict {
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
