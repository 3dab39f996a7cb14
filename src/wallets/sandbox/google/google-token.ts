import { generateKeyPair, type KeyObject, randomBytes, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import type { LocalCall, LocalReply } from '../local-server.ts'

const AUDIENCE = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/wallet_object.issuer'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const LIFETIME_SECONDS = 3599
const MAX_LIFETIME_SECONDS = 3600
const SKEW_SECONDS = 300

export interface ServiceAccount {
  clientEmail: string
  publicKey: KeyObject
  issuerId: string
}

/** Returns the first account that `fits` accepts. An account with several keys is tried once per key. */
export type FindAccount = (fits: (account: ServiceAccount) => boolean) => ServiceAccount | undefined

export interface AccessTokens {
  /** The token endpoint: exchanges a signed assertion for an access token. */
  answer(call: LocalCall): LocalReply
  accountOf(authorization: string | undefined): ServiceAccount | undefined
}

const Assertion = z.object({
  iss: z.string(),
  scope: z.string(),
  aud: z.string(),
  iat: z.number(),
  exp: z.number(),
})

export function createAccessTokens(find: FindAccount, clock: () => Date): AccessTokens {
  const issued = new Map<string, { until: number; account: ServiceAccount }>()
  const seconds = () => clock().getTime() / 1000

  return {
    answer({ text }) {
      const form = new URLSearchParams(text)
      if (form.get('grant_type') !== GRANT) return rejection('unsupported_grant_type', 'Invalid grant_type.')
      const assertion = form.get('assertion') ?? ''
      const isKnown = find((one) => one.clientEmail === issuerOf(assertion)) !== undefined
      if (!isKnown) return rejection('invalid_grant', 'Invalid issuer: service account not found.')
      const signed = findSigner(assertion, find)
      const claims = Assertion.safeParse(signed?.claims).data
      if (!signed || !claims) return rejection('invalid_grant', 'Invalid JWT Signature.')
      const { account } = signed
      const wrong = flawOf(claims, seconds())
      if (wrong) return rejection('invalid_grant', wrong)
      const token = `ya29.sandbox.${randomBytes(24).toString('base64url')}`
      issued.set(token, { until: seconds() + LIFETIME_SECONDS, account })
      return {
        status: 200,
        json: { access_token: token, expires_in: LIFETIME_SECONDS, token_type: 'Bearer' },
      }
    },
    accountOf(authorization) {
      const [, token = ''] = /^Bearer (\S+)$/.exec(authorization ?? '') ?? []
      const known = issued.get(token)
      return known && known.until > seconds() ? known.account : undefined
    },
  }
}

function verifyJwt(jwt: string, publicKey: KeyObject): unknown {
  const [header, claims, signature, ...rest] = jwt.split('.')
  if (!header || !claims || !signature || rest.length > 0) return undefined
  if ((decode(header) as { alg?: unknown } | null)?.alg !== 'RS256') return undefined
  const isGenuine = verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))
  return isGenuine ? decode(claims) : undefined
}

/**
 * Returns the account whose key signed a JWT, and the claims of the JWT. Returns `undefined` if no account signed it.
 */
export function findSigner(jwt: string, find: FindAccount): { account: ServiceAccount; claims: unknown } | undefined {
  let claims: unknown
  const account = find(({ clientEmail, publicKey }) => {
    claims = clientEmail === issuerOf(jwt) ? verifyJwt(jwt, publicKey) : undefined
    return claims !== undefined
  })
  return account && { account, claims }
}

/** Does not verify the signature. */
function issuerOf(jwt: string): string | undefined {
  const claims = decode(jwt.split('.')[1] ?? '') as { iss?: unknown } | null | undefined
  return typeof claims?.iss === 'string' ? claims.iss : undefined
}

function flawOf(claims: z.output<typeof Assertion>, now: number): string | undefined {
  if (claims.aud !== AUDIENCE) return 'Invalid JWT: aud is not the token endpoint.'
  if (!claims.scope.split(' ').includes(SCOPE)) return 'Invalid scope.'
  if (claims.exp <= now || claims.iat > now + SKEW_SECONDS || claims.exp - claims.iat > MAX_LIFETIME_SECONDS) {
    return 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe.'
  }
  return undefined
}

function rejection(error: string, description: string): LocalReply {
  return { status: 400, json: { error, error_description: description } }
}

function decode(part: string): unknown {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return undefined
  }
}

const PROJECT = 'passes-sandbox'

export interface SandboxGoogle {
  /** A key file of the service account, with a new RSA key that is unknown outside the sandbox. */
  serviceAccountJson: string
  issuerId: string
}

export async function createSandboxGoogle(name = 'sandbox'): Promise<SandboxGoogle> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
  const account = {
    type: 'service_account',
    project_id: PROJECT,
    private_key_id: randomBytes(20).toString('hex'),
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    client_email: `${name}@${PROJECT}.iam.gserviceaccount.com`,
    token_uri: 'https://oauth2.googleapis.com/token',
  }
  return { serviceAccountJson: JSON.stringify(account, null, 2), issuerId: '3388000000000000000' }
}
