import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { type CallbackFacts, type SigningKey, verifyCallback } from '../../../src/wallets/google/callbacks.ts'
import { at } from './samples.ts'

export const issuerId = '3388000000012345678'
export const HOUR = 3_600_000

export function makeKey() {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

export const root = makeKey()
export const intermediate = makeKey()

export const later = (ms: number) => new Date(at.getTime() + ms)
export const rootKey = (key: KeyObject = root.publicKey, expiresAt = later(24 * HOUR)): SigningKey => ({
  publicKey: key,
  expiresAt,
})
export const base64Of = (key: KeyObject) => key.export({ type: 'spki', format: 'der' }).toString('base64')

export const message = {
  classId: `${issuerId}.template-1`,
  objectId: `${issuerId}.018f2f5e-7c1a-7000-bfff-ba9876543210`,
  eventType: 'save',
  nonce: 'a52b0a36-8f4e-4a53-a4f0-5c0b7d2d6f4f',
  expTimeMillis: at.getTime() + HOUR,
}

/** The parts that the signatures of a callback cover. A test can replace each by one that Google would not sign. */
export interface SignedParts {
  message?: object
  signedMessage?: string
  signedKey?: string
  keyValue?: string
  keyExpiration?: unknown
  sender?: string
  recipient?: string
  keyProtocol?: string
  messageProtocol?: string
  rootPrivateKey?: KeyObject
  messagePrivateKey?: KeyObject
}

/** Returns a callback like Google's, in which the equals signs of base64 are escaped in the signed texts. */
export function callback(parts: SignedParts = {}) {
  const {
    sender = 'GooglePayPasses',
    recipient = issuerId,
    keyProtocol = 'ECv2SigningOnly',
    messageProtocol = 'ECv2SigningOnly',
    keyValue = base64Of(intermediate.publicKey),
    keyExpiration = String(later(HOUR).getTime()),
    signedKey = JSON.stringify({ keyValue, keyExpiration }).replaceAll('=', '\\u003d'),
    signedMessage = JSON.stringify({ ...message, count: 1, ...parts.message }),
  } = parts
  return {
    signature: signed(parts.messagePrivateKey ?? intermediate.privateKey, [
      sender,
      recipient,
      messageProtocol,
      signedMessage,
    ]),
    intermediateSigningKey: {
      signedKey,
      signatures: [signed(parts.rootPrivateKey ?? root.privateKey, [sender, keyProtocol, signedKey])],
    },
    protocolVersion: 'ECv2SigningOnly',
    signedMessage,
  }
}

export type Callback = ReturnType<typeof callback>

/** Implements the protocol independently of the code under test. */
function signed(key: KeyObject, parts: string[]): string {
  const hash = Buffer.concat(
    parts.flatMap((part) => {
      const { length } = Buffer.from(part)
      return [Buffer.from([length & 255, (length >> 8) & 255, (length >> 16) & 255, length >> 24]), Buffer.from(part)]
    }),
  )
  return sign('sha256', hash, key).toString('base64')
}

/** Returns the file in which Google publishes its root keys. */
export function keysFile(...keys: { publicKey: KeyObject; expiresAt?: Date; protocolVersion?: string }[]) {
  return {
    keys: keys.map(({ publicKey, expiresAt = later(24 * HOUR), protocolVersion = 'ECv2SigningOnly' }) => ({
      keyValue: base64Of(publicKey),
      protocolVersion,
      keyExpiration: String(expiresAt.getTime()),
    })),
  }
}

/** Returns a valid callback that was changed after it was signed. */
export function changed(change: (body: Callback) => void): Callback {
  const body = callback()
  change(body)
  return body
}

export function decisionOf(body: unknown, facts: Partial<CallbackFacts> = {}) {
  return verifyCallback({ body, issuerId, rootKeys: [rootKey()], at, ...facts })
}
