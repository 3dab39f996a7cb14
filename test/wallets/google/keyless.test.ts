import { createSign, verify } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { readGoogleIdentity } from '../../../src/server/identities/credentials.ts'
import { createGoogleApi } from '../../../src/wallets/google/api/google-api.ts'
import { createKeylessIdentity } from '../../../src/wallets/google/api/keyless.ts'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { placeOf } from '../../../src/wallets/google/resource.ts'
import type { ProviderCall } from '../../../src/wallets/wallet.ts'
import { at, pass, privateKey, publicKey, publicUrl } from './samples.ts'

const issuerId = '3388000000012345678'
const email = 'passes@project.iam.gserviceaccount.com'
const account = `/v1/projects/-/serviceAccounts/${email}`

/**
 * The address of the emulated workload identity provider, Google's STS, IAM Credentials, metadata server, and Wallet
 * API.
 */
let base: string
let close: () => void
let seen: { path: string; body: string }[]
let tokens = 0

beforeEach(async () => {
  seen = []
  tokens = 0
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const path = decodeURIComponent(request.url!)
    seen.push({ path, body })
    const isBy = (token: string) => request.headers.authorization === `Bearer ${token}`
    const give = (status: number, answer: object | string) => {
      const isText = typeof answer === 'string'
      const type = isText ? 'text/plain' : 'application/json'
      response.writeHead(status, { 'content-type': type, 'metadata-flavor': 'Google' })
      response.end(isText ? answer : JSON.stringify(answer))
    }
    const refuse = () => give(403, { error: { code: 403, message: 'No.', status: 'PERMISSION_DENIED' } })
    const form = new URLSearchParams(body)
    switch (path.split('?')[0]) {
      case '/subject':
        return request.headers['x-workload'] === 'yes' ? give(200, { value: 'subject-token' }) : refuse()
      case '/sts':
        return form.get('subject_token') === 'subject-token' && form.get('grant_type')?.endsWith(':token-exchange')
          ? give(200, {
              access_token: 'federated',
              issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
              token_type: 'Bearer',
              expires_in: 3600,
            })
          : refuse()
      case `${account}:generateAccessToken`:
        tokens += 1
        return isBy('federated')
          ? give(200, { accessToken: `token-${tokens}`, expireTime: new Date(Date.now() + 3_600_000).toISOString() })
          : refuse()
      case `${account}:signJwt`:
        return isBy(`token-${tokens}`)
          ? give(200, { keyId: 'k', signedJwt: signed(JSON.parse(body).payload) })
          : refuse()
      case '/walletobjects/v1/genericClass':
        return isBy(`token-${tokens}`) ? give(200, JSON.parse(body)) : give(401, { error: { message: 'No.' } })
      case '/computeMetadata/v1/instance':
        return give(200, 'yes')
      case '/computeMetadata/v1/instance/service-accounts/default/email':
        return give(200, email)
      case '/computeMetadata/v1/instance/service-accounts/default/token':
        tokens += 1
        return give(200, { access_token: `token-${tokens}`, expires_in: 3600, token_type: 'Bearer' })
      default:
        return give(404, 'Not found')
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  close = () => {
    server.closeAllConnections()
    server.close()
  }
})
afterEach(() => {
  vi.unstubAllEnvs()
  close()
})

function signed(payload: string): string {
  const encode = (text: string) => Buffer.from(text).toString('base64url')
  const input = `${encode('{"alg":"RS256","kid":"k","typ":"JWT"}')}.${encode(payload)}`
  return `${input}.${createSign('sha256').update(input).sign(privateKey).toString('base64url')}`
}

const configuration = () => ({
  type: 'external_account',
  audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/provider',
  subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
  token_url: `${base}/sts`,
  service_account_impersonation_url: `${base}${account}:generateAccessToken`,
  credential_source: {
    url: `${base}/subject`,
    headers: { 'x-workload': 'yes' },
    format: { type: 'json', subject_token_field_name: 'value' },
  },
})

const endpoints = () => ({ api: `${base}/walletobjects/v1`, token: `${base}/never` })

test('workload identity creates classes and signs save links without a key', async () => {
  const calls: ProviderCall[] = []
  const onCall = (call: ProviderCall) => calls.push(call)
  const identity = await createKeylessIdentity({ issuerId, configuration: configuration(), onCall })
  expect(identity.clientEmail).toBe(email)
  const api = createGoogleApi({ identity, endpoints: endpoints(), onCall })
  await api.insertClass('generic', { id: `${issuerId}.a` })
  const url = await createGoogleWallet({ identity, publicUrl }).saveUrl([placeOf(pass())], at)
  const [header, claims, signature] = url.split('/').at(-1)!.split('.') as [string, string, string]
  const input = Buffer.from(`${header}.${claims}`)
  expect(verify('sha256', input, publicKey, Buffer.from(signature, 'base64url'))).toBe(true)
  const said = JSON.parse(Buffer.from(claims, 'base64url').toString())
  expect(said).toMatchObject({ iss: email, aud: 'google', typ: 'savetowallet', payload: { genericObjects: [{}] } })
  // One token serves both requests, and no other request was sent.
  expect([tokens, calls.length]).toEqual([1, seen.length])
  expect(JSON.parse(seen.find(({ path }) => path.includes('generateAccessToken'))!.body).scope).toEqual([
    'https://www.googleapis.com/auth/wallet_object.issuer',
    'https://www.googleapis.com/auth/cloud-platform',
  ])
  // A token that is no longer accepted is replaced.
  tokens += 1
  await api.insertClass('generic', { id: `${issuerId}.b` })
  expect(tokens).toBe(3)
})

test('reports an account that cannot sign, and a rejected workload as a permission error', async () => {
  const identity = await createKeylessIdentity({ issuerId, configuration: configuration() })
  await identity.tokens.get()
  tokens += 1
  const saving = createGoogleWallet({ identity, publicUrl }).saveUrl([placeOf(pass())], at)
  await expect(saving).rejects.toMatchObject({ code: 'GOOGLE_JWT_FAILED', cause: { kind: 'permission' } })
  const source = { ...configuration().credential_source, headers: {} }
  const stranger = { ...configuration(), credential_source: source }
  const refused = await createKeylessIdentity({ issuerId, configuration: stranger })
  await expect(refused.tokens.get()).rejects.toMatchObject({ kind: 'permission' })
})

test("a server accepts the configuration as its key, and without one uses the machine's account", async () => {
  const serviceAccount = JSON.stringify(configuration())
  expect(await readGoogleIdentity({ google: { serviceAccount, issuerId } })).toMatchObject({ clientEmail: email })
  const { service_account_impersonation_url: _, ...own } = configuration()
  await expect(readGoogleIdentity({ google: { serviceAccount: JSON.stringify(own), issuerId } })).rejects.toThrow(
    '--service-account',
  )

  vi.stubEnv('GCE_METADATA_HOST', new URL(base).host)
  vi.stubEnv('GOOGLE_APPLICATION_CREDENTIALS', '')
  vi.stubEnv('HOME', '/nonexistent')
  const attached = await readGoogleIdentity({ google: { issuerId } })
  expect(attached).toMatchObject({ issuerId, clientEmail: email })
  await createGoogleApi({ identity: attached, endpoints: endpoints() }).insertClass('generic', { id: `${issuerId}.c` })
  expect(seen.at(-1)!.path).toBe('/walletobjects/v1/genericClass')
})
