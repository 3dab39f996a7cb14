import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { createProvider } from '../../../src/server/people/provider.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const checks = { state: 's', nonce: 'n', codeVerifier: 'v'.repeat(43) }

type Respond = (response: ServerResponse) => unknown

/** Starts a provider whose endpoints are under the control of a test. Returns its client. */
async function startProvider({ metadata = {}, discover, token }: Faults) {
  const server = createServer((request, response) => {
    if (request.url === '/token') return void token?.(response)
    if (discover) return void discover(response)
    response.writeHead(200, JSON_TYPE).end(JSON.stringify({ ...documentOf(url), ...metadata }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const config = { clientId: 'passes', clientSecret: 'secret', trustsEmail: false, groupRoles: [] }
  const client = createProvider({ issuer: new URL(url), ...config }, 'https://passes.example/desk/callback')
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return client
}

interface Faults {
  /** The properties that replace those of a valid discovery document. */
  metadata?: object
  discover?: Respond
  token?: Respond
}

function documentOf(url: string) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/auth`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    id_token_signing_alg_values_supported: ['RS256'],
  }
}

/** Valid JSON of three megabytes, which compresses to a few kilobytes. */
const large = `${' '.repeat(3 * 1024 * 1024)}{}`

test.each<[string, Faults, string]>([
  ['names another issuer', { metadata: { issuer: 'https://other.example' } }, 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED'],
  ['has no issuer', { metadata: { issuer: undefined } }, 'OAUTH_INVALID_RESPONSE'],
  ['has no address for people', { metadata: { authorization_endpoint: undefined } }, 'OAUTH_MISSING_SERVER_METADATA'],
  ['is broken', { discover: (to) => to.writeHead(200, JSON_TYPE).end('{"issuer":') }, 'OAUTH_PARSE_ERROR'],
  ['is too large', { discover: (to) => to.writeHead(200, JSON_TYPE).end(large) }, 'response_too_large'],
  [
    'is on another page',
    { discover: (to) => to.writeHead(302, { location: '/x' }).end() },
    'OAUTH_RESPONSE_IS_NOT_CONFORM',
  ],
])('is unavailable if the discovery document %s', async (_, faults, reason) => {
  const client = await startProvider(faults)
  await expect(client.signInUrl(checks)).rejects.toMatchObject({ failure: 'unavailable', reason })
})

test('limits the size of a response after its decompression', async () => {
  const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
  const packed = gzipSync(large.replace('{}', JSON.stringify(documentOf('http://127.0.0.1'))))
  const client = await startProvider({ discover: (to) => to.writeHead(200, headers).end(packed) })
  await expect(client.metadata()).rejects.toMatchObject({ failure: 'unavailable', reason: 'response_too_large' })
})

const challenge = { ...JSON_TYPE, 'www-authenticate': 'Basic realm="provider"' }

test.each<[string, Respond, string]>([
  [
    'asks for another client secret',
    (to) => to.writeHead(401, challenge).end('{"error":"invalid_client"}'),
    'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
  ],
  ['sends broken tokens', (to) => to.writeHead(200, JSON_TYPE).end('{"id_token"'), 'OAUTH_PARSE_ERROR'],
])('is unavailable if the provider %s', async (_, token, reason) => {
  const client = await startProvider({ token })
  await expect(client.exchange('?code=c&state=s', checks)).rejects.toMatchObject({ failure: 'unavailable', reason })
})

test.each([
  ['access_denied', 'denied'],
  ['server_error', 'unavailable'],
  ['temporarily_unavailable', 'unavailable'],
  ['unauthorized_client', 'unavailable'],
  ['login_required', 'rejected'],
])('a redirect with the error %s is %s, and a redirect with a wrong state is rejected', async (error, failure) => {
  const client = await startProvider({})
  const redirect = (state: string) => client.exchange(`?error=${error}&state=${state}`, checks)
  await expect(redirect('s')).rejects.toMatchObject({ failure, reason: error })
  await expect(redirect('x')).rejects.toMatchObject({ failure: 'rejected', reason: 'OAUTH_INVALID_RESPONSE' })
})
