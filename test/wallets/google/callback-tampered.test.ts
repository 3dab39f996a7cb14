import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CallbackFacts } from '../../../src/wallets/google/callbacks.ts'
import {
  base64Of,
  callback,
  changed,
  decisionOf,
  intermediate,
  issuerId,
  makeKey,
  message,
  root,
  rootKey,
} from './callback-samples.ts'
import { at } from './samples.ts'

const flipped = (base64: string) => {
  const bytes = Buffer.from(base64, 'base64')
  bytes[bytes.length - 1]! ^= 1
  return bytes.toString('base64')
}

const other = makeKey()
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })

const NOT_BY_ROOT = 'intermediate key not signed by a root key'
const NOT_BY_KEY = 'message not signed by the intermediate key for this issuer'

test.each<[string, unknown, string, Partial<CallbackFacts>?]>([
  // The envelope
  ['no signature', changed((body) => Reflect.deleteProperty(body, 'signature')), 'malformed envelope'],
  [
    'no signed key',
    changed((body) => Reflect.deleteProperty(body.intermediateSigningKey, 'signedKey')),
    'malformed envelope',
  ],
  ['no signed message', changed((body) => Reflect.deleteProperty(body, 'signedMessage')), 'malformed envelope'],
  ['a signed message that is an object', { ...callback(), signedMessage: message }, 'malformed envelope'],
  ['a message without end', callback({ message: { padding: 'x'.repeat(20_000) } }), 'malformed envelope'],
  [
    'signatures without end',
    changed((body) => body.intermediateSigningKey.signatures.push(...Array(1000).fill(''))),
    'malformed envelope',
  ],
  [
    'another protocol version',
    changed((body) => Object.assign(body, { protocolVersion: 'ECv2' })),
    'unknown protocol version',
  ],
  ['no protocol version', changed((body) => Reflect.deleteProperty(body, 'protocolVersion')), 'malformed envelope'],

  // The intermediate key
  ['no signature on the key', changed((body) => body.intermediateSigningKey.signatures.pop()), NOT_BY_ROOT],
  ['a key signed by somebody', callback({ rootPrivateKey: other.privateKey }), NOT_BY_ROOT],
  ['a key that signed itself', callback({ rootPrivateKey: intermediate.privateKey }), NOT_BY_ROOT],
  [
    'a changed signature on the key',
    changed(({ intermediateSigningKey: key }) => Object.assign(key, { signatures: key.signatures.map(flipped) })),
    NOT_BY_ROOT,
  ],
  [
    'a cut signature on the key',
    changed(({ intermediateSigningKey: key }) =>
      Object.assign(key, { signatures: key.signatures.map((text) => text.slice(0, -8)) }),
    ),
    NOT_BY_ROOT,
  ],
  [
    'swapped signatures',
    changed((body) => {
      const [ofKey] = body.intermediateSigningKey.signatures
      body.intermediateSigningKey.signatures = [body.signature]
      body.signature = ofKey!
    }),
    NOT_BY_ROOT,
  ],
  [
    'another key in the signed key',
    changed(({ intermediateSigningKey: key }) => {
      key.signedKey = JSON.stringify({ ...JSON.parse(key.signedKey), keyValue: base64Of(other.publicKey) })
    }),
    NOT_BY_ROOT,
  ],
  [
    'a later expiry in the signed key',
    changed(({ intermediateSigningKey: key }) => {
      key.signedKey = JSON.stringify({ ...JSON.parse(key.signedKey), keyExpiration: '9999999999999' })
    }),
    NOT_BY_ROOT,
  ],
  [
    'a signed key parsed and written again',
    changed(({ intermediateSigningKey: key }) => {
      key.signedKey = JSON.stringify(JSON.parse(key.signedKey))
    }),
    NOT_BY_ROOT,
  ],
  ['a key signed under another protocol', callback({ keyProtocol: 'ECv2' }), NOT_BY_ROOT],
  ['a key signed for another sender', callback({ sender: 'Google' }), NOT_BY_ROOT],
  ['no root keys', callback(), NOT_BY_ROOT, { rootKeys: [] }],
  ['a missing root key', callback(), NOT_BY_ROOT, { rootKeys: [rootKey(other.publicKey)] }],
  ['an expired root key', callback(), NOT_BY_ROOT, { rootKeys: [rootKey(root.publicKey, at)] }],
  ['an expired intermediate key', callback({ keyExpiration: String(at.getTime()) }), 'expired intermediate key'],
  ['an intermediate key without an expiry', callback({ keyExpiration: null }), 'malformed intermediate key'],
  ['an intermediate key with an expiry beyond time', callback({ keyExpiration: 9e15 }), 'malformed intermediate key'],
  [
    'a cut intermediate key',
    callback({ keyValue: base64Of(intermediate.publicKey).slice(0, 60) }),
    'malformed intermediate key',
  ],
  [
    'an intermediate key on another curve',
    callback({ keyValue: base64Of(p384.publicKey), messagePrivateKey: p384.privateKey }),
    'malformed intermediate key',
  ],
  [
    'an RSA intermediate key',
    callback({ keyValue: base64Of(rsa.publicKey), messagePrivateKey: rsa.privateKey }),
    'malformed intermediate key',
  ],
  ['a signed key that is not JSON', callback({ signedKey: 'key' }), 'malformed intermediate key'],

  // The message
  ['a message signed by somebody', callback({ messagePrivateKey: other.privateKey }), NOT_BY_KEY],
  ['a message signed by the root key itself', callback({ messagePrivateKey: root.privateKey }), NOT_BY_KEY],
  ['a changed signature', changed((body) => Object.assign(body, { signature: flipped(body.signature) })), NOT_BY_KEY],
  ['a cut signature', changed((body) => Object.assign(body, { signature: body.signature.slice(0, -8) })), NOT_BY_KEY],
  ['no signature at all', changed((body) => Object.assign(body, { signature: '' })), NOT_BY_KEY],
  ['a message for another issuer', callback({ recipient: '3388000000099999999' }), NOT_BY_KEY],
  ['a message signed under another protocol', callback({ messageProtocol: 'ECv1' }), NOT_BY_KEY],
  ...Object.entries({
    classId: `${issuerId}.x`,
    objectId: `${issuerId}.x`,
    eventType: 'del',
    nonce: 'x',
    expTimeMillis: 9e12,
  }).map(([key, value]): [string, unknown, string] => [
    `another ${key} in the message`,
    changed((body) =>
      Object.assign(body, { signedMessage: JSON.stringify({ ...JSON.parse(body.signedMessage), [key]: value }) }),
    ),
    NOT_BY_KEY,
  ]),
  [
    'a message written with other spaces',
    changed((body) => Object.assign(body, { signedMessage: `${body.signedMessage} ` })),
    NOT_BY_KEY,
  ],
  [
    'the message of another callback',
    changed((body) => Object.assign(body, { signedMessage: callback({ message: { nonce: 'n2' } }).signedMessage })),
    NOT_BY_KEY,
  ],
  ['an expired message', callback({ message: { expTimeMillis: at.getTime() } }), 'expired message'],
  ['a message without an expiry', callback({ message: { expTimeMillis: null } }), 'malformed message'],
  ['a message without a nonce', callback({ message: { nonce: '' } }), 'malformed message'],
  ['an unknown kind of event', callback({ message: { eventType: 'view' } }), 'malformed message'],
  ['a message that is not JSON', callback({ signedMessage: '{' }), 'malformed message'],
  [
    "another issuer's class",
    callback({ message: { classId: '3388000000099999999.template-1' } }),
    'class or object of another issuer',
  ],
  [
    "another issuer's object",
    callback({ message: { objectId: '3388000000099999999.1' } }),
    'class or object of another issuer',
  ],
  [
    'an issuer ID that is only a prefix',
    callback({ message: { objectId: `${issuerId}9.1` } }),
    'class or object of another issuer',
  ],
  [
    'an invalid object ID',
    callback({ message: { objectId: `${issuerId}.1/../2` } }),
    'class or object of another issuer',
  ],
])('rejects %s', (_, body, reason, facts = {}) => {
  expect(decisionOf(body, facts)).toEqual({ ok: false, reason })
})
