import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { parseGoogleIdentity } from '../../../src/wallets/google/google-identity.ts'
import { createSandboxGoogle } from '../../../src/wallets/sandbox/google/google-token.ts'
import { CredentialError } from '../../../src/wallets/wallet.ts'
import { identity, privateKey } from './samples.ts'

const source = '/etc/passes/google.json'
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
const account = { client_email: identity.clientEmail, private_key_id: identity.privateKeyId, private_key: pem }

test('reads an identity from a service account key file', () => {
  const parsed = parseGoogleIdentity({ source, json: JSON.stringify(account) }, identity.issuerId)
  expect(parsed).toMatchObject({
    issuerId: identity.issuerId,
    clientEmail: identity.clientEmail,
    privateKeyId: identity.privateKeyId,
  })
  expect(parsed.privateKey.equals(privateKey)).toBe(true)
})

test('reads sandbox credentials like real ones, marked as sandbox', async () => {
  const { serviceAccountJson, issuerId } = await createSandboxGoogle()
  const parsed = parseGoogleIdentity({ source: 'the sandbox', json: serviceAccountJson }, issuerId)
  expect(parsed.clientEmail).toContain('sandbox')
  expect(parsed.privateKey.asymmetricKeyDetails?.modulusLength).toBe(2048)
})

test('two sandboxes have different keys', async () => {
  const [one, other] = await Promise.all([createSandboxGoogle(), createSandboxGoogle()])
  expect(JSON.parse(one.serviceAccountJson).private_key).not.toBe(JSON.parse(other.serviceAccountJson).private_key)
})

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })

test.each([
  ['no JSON', 'hello', /is not JSON/],
  ['a bare PEM', pem, /is not JSON/],
  ['a JSON array', '[]', /is not a JSON object/],
  ['no client_email', JSON.stringify({ ...account, client_email: undefined }), /has no client_email/],
  ['an empty private_key_id', JSON.stringify({ ...account, private_key_id: '' }), /has no private_key_id/],
  ['a private_key of the wrong type', JSON.stringify({ ...account, private_key: 7 }), /has no private_key/],
  ['a truncated private_key', JSON.stringify({ ...account, private_key: pem.slice(0, 200) }), /cannot be read/],
  ['an EC private_key', JSON.stringify({ ...account, private_key: ec }), /is of type ec, but Google accepts only RSA/],
])('rejects %s with the source, the reason, and the fix', (_, json, reason) => {
  const attempt = () => parseGoogleIdentity({ source, json }, identity.issuerId)
  expect(attempt).toThrow(CredentialError)
  expect(attempt).toThrow(source)
  expect(attempt).toThrow(reason)
  expect(attempt).toThrow(/Download a new JSON key/)
})

test('the error contains nothing of the key', () => {
  for (const json of [pem, JSON.stringify({ ...account, private_key: pem.slice(0, 200) })]) {
    try {
      parseGoogleIdentity({ source, json }, identity.issuerId)
      expect.unreachable()
    } catch (error) {
      const { message, stack, cause } = error as Error
      expect(`${message} ${stack} ${cause}`).not.toContain(pem.slice(30, 50))
      expect(`${message} ${stack} ${cause}`).not.toContain('BEGIN')
    }
  }
})

test.each(['', 'abc', '3388 000', '3388.1'])(
  'rejects the issuer ID %j, and names where to find the correct one',
  (issuerId) => {
    const attempt = () => parseGoogleIdentity({ source, json: JSON.stringify(account) }, issuerId)
    expect(attempt).toThrow(CredentialError)
    expect(attempt).toThrow(/is not a number.*console/)
  },
)
