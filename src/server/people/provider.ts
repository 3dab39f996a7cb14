import { createRemoteJWKSet, customFetch as joseFetch, jwtVerify } from 'jose'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  calculatePKCECodeChallenge,
  clockTolerance,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  genericGrantRequest,
  initiateDeviceAuthorization,
  ResponseBodyError,
  type ServerMetadata,
} from 'openid-client'
import { Agent, fetch as undiciFetch } from 'undici'
import { isWellFormedText } from '../../core/bounds.ts'
import { readBounded } from '../../core/read-bounded.ts'
import type { OidcConfig } from '../config.ts'
import { onProvider, ProviderError, safeCode, toProviderError } from './provider-error.ts'

/** The facts about a person that the provider signed, or returned over TLS from its userinfo endpoint. */
export interface ProviderClaims {
  subject: string
  email: string | undefined
  emailVerified: boolean
  providerSession: string | undefined
  /** The values of the roles claim; empty without --oidc-roles-claim. */
  groups: string[]
}

/** The session or person that a back-channel logout names. */
export interface LogoutClaims {
  /** The ID of the logout token. */
  tokenId: string
  subject: string | undefined
  providerSession: string | undefined
}

/** The secrets of a sign-in. A cookie of the browser keeps them until the provider redirects back. */
export interface SignInChecks {
  state: string
  nonce: string
  codeVerifier: string
}

/** A sign-in that the person completes on another device. */
export interface DeviceSignIn {
  deviceCode: string
  /** The code that the person enters at `verificationUri`. */
  userCode: string
  verificationUri: string
  /** The lifetime of the codes, in seconds. `interval` is the time between two polls, in seconds. */
  expiresIn: number
  interval: number
}

type Tokens = Pick<Awaited<ReturnType<typeof authorizationCodeGrant>>, 'access_token' | 'claims'>

export type Provider = ReturnType<typeof createProvider>

/** The tolerated difference between the clocks of this server and the provider, in seconds. */
export const CLOCK_TOLERANCE_SECONDS = 60

/** The time for which the endpoints of the provider are cached. Keys are read for each sign-in. */
const METADATA_MS = 3_600_000

/** The pause after a failed request for the endpoints. */
const FAILURE_MS = 3_000

/** The maximum age of a logout token. */
export const LOGOUT_SECONDS = 300

/** The minimum time between two requests for the keys of logout tokens, because anyone can cause such requests. */
const LOGOUT_KEYS_COOLDOWN_MS = 10_000

const SCOPE = 'openid email profile'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

const MAX_RESPONSE_BYTES = 1024 * 1024
const TIMEOUT_SECONDS = 10

/** The event that a logout token contains (OpenID Connect Back-Channel Logout 1.0). */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** Creates the client of the OpenID Connect provider. It sends no request before it is used. */
export function createProvider(config: OidcConfig, redirectUri: string) {
  const agent = new Agent({
    connect: { timeout: 3_000 },
    headersTimeout: TIMEOUT_SECONDS * 1000,
    bodyTimeout: TIMEOUT_SECONDS * 1000,
  })
  const fetch = (async (url: string, options: object) => {
    const { body, status, headers } = await undiciFetch(url, { ...options, dispatcher: agent })
    // Limit the decoded body, because a compressed body can be a thousand times smaller.
    const bytes = body && (await readBounded(body, MAX_RESPONSE_BYTES))
    if (bytes === undefined) throw new ProviderError('unavailable', 'response_too_large')
    return new Response(bytes, { status, headers: [...headers] })
  }) as never
  const metadata = { client_secret: config.clientSecret, [clockTolerance]: CLOCK_TOLERANCE_SECONDS }
  const isInsecure = config.issuer.protocol === 'http:'

  async function discover(): Promise<ServerMetadata> {
    const options = {
      [customFetch]: fetch,
      timeout: TIMEOUT_SECONDS,
      execute: isInsecure ? [allowInsecureRequests] : [],
    }
    const found = await discovery(config.issuer, config.clientId, metadata, undefined, options).catch((error) => {
      // A sign-in cannot succeed until the operator or the provider fixes the document.
      throw new ProviderError('unavailable', toProviderError(error).reason)
    })
    const server = found.serverMetadata()
    // Reject the issuer of Entra ID for several tenants, because an administrator of any tenant could sign in with any
    // address.
    if (server.issuer.includes('{')) throw new ProviderError('unavailable', 'issuer_of_several_tenants')
    return server
  }
  const findServer = cached(discover)

  /** Returns a client without cached keys, so that a sign-in that follows a rotation of keys finds the new key. */
  function clientOf(server: ServerMetadata): Configuration {
    const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const authentication = methods.includes('client_secret_post') ? ClientSecretPost() : ClientSecretBasic()
    const client = new Configuration(server, config.clientId, metadata, authentication)
    client.timeout = TIMEOUT_SECONDS
    client[customFetch] = fetch
    if (isInsecure) allowInsecureRequests(client)
    enableNonRepudiationChecks(client)
    return client
  }

  /** Returns the claims of verified tokens. Claims that the ID token lacks are read from the userinfo endpoint. */
  async function claimsOf(client: Configuration, tokens: Tokens): Promise<ProviderClaims> {
    const claims = tokens.claims()!
    const { rolesClaim } = config
    const subject = idOf(claims.sub)
    if (subject === undefined) throw new ProviderError('unavailable', 'malformed_subject')
    const isComplete = claims.email !== undefined && (!rolesClaim || claimAt(claims, rolesClaim) !== undefined)
    const info: { [claim: string]: unknown } =
      isComplete || !client.serverMetadata().userinfo_endpoint
        ? {}
        : await fetchUserInfo(client, tokens.access_token, claims.sub)
    const { email, email_verified: emailVerified } = claims.email === undefined ? info : claims
    return {
      subject,
      email: typeof email === 'string' ? email : undefined,
      emailVerified: emailVerified === true || emailVerified === 'true',
      providerSession: idOf(claims.sid),
      groups: rolesClaim ? groupsOf(claimAt(claims, rolesClaim) ?? claimAt(info, rolesClaim)) : [],
    }
  }

  let logoutKeys: { uri: string; keys: ReturnType<typeof createRemoteJWKSet> } | undefined
  function logoutKeysOf(uri: string): ReturnType<typeof createRemoteJWKSet> {
    if (logoutKeys?.uri !== uri) {
      const options = { cooldownDuration: LOGOUT_KEYS_COOLDOWN_MS, [joseFetch]: fetch }
      logoutKeys = { uri, keys: createRemoteJWKSet(new URL(uri), options) }
    }
    return logoutKeys.keys
  }

  return {
    /** Returns the endpoints and capabilities of the provider. @throws ProviderError if it does not respond */
    metadata: () => onProvider(findServer),

    /** Returns the address at which a person signs in. @throws ProviderError if the provider does not respond */
    signInUrl: ({ state, nonce, codeVerifier }: SignInChecks) =>
      onProvider(async () =>
        buildAuthorizationUrl(clientOf(await findServer()), {
          redirect_uri: redirectUri,
          scope: SCOPE,
          response_type: 'code',
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(codeVerifier),
          code_challenge_method: 'S256',
        }),
      ),

    /**
     * Exchanges the code of a redirect for the claims of the person. Verifies state, nonce, signature, issuer,
     * audience, and expiry.
     * @param search the query of the redirect
     * @throws ProviderError if the provider does not respond, or a check fails
     */
    exchange: (search: string, { state, nonce, codeVerifier }: SignInChecks) =>
      onProvider(async (): Promise<ProviderClaims> => {
        const client = clientOf(await findServer())
        const tokens = await authorizationCodeGrant(client, new URL(`${redirectUri}${search}`), {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        })
        return claimsOf(client, tokens)
      }),

    /**
     * Begins a sign-in on another device (RFC 8628). Returns `undefined` if the provider does not support this, or does
     * not allow it for this client.
     * @throws ProviderError if the provider does not respond
     */
    beginDevice: () =>
      onProvider(async (): Promise<DeviceSignIn | undefined> => {
        const client = clientOf(await findServer())
        if (!client.serverMetadata().device_authorization_endpoint) return undefined
        try {
          const begun = await initiateDeviceAuthorization(client, { scope: SCOPE })
          return {
            deviceCode: begun.device_code,
            userCode: begun.user_code,
            verificationUri: begun.verification_uri,
            expiresIn: begun.expires_in,
            interval: begun.interval ?? 5,
          }
        } catch (error) {
          if (error instanceof ResponseBodyError && error.status < 500) return undefined
          throw error
        }
      }),

    /**
     * Returns the claims of a person who signed in on another device. Until the person has signed in, returns whether
     * the next poll must wait longer.
     * @throws ProviderError if the provider does not respond, or the sign-in failed
     */
    pollDevice: (deviceCode: string) =>
      onProvider(async (): Promise<ProviderClaims | { mustSlowDown: boolean }> => {
        const client = clientOf(await findServer())
        try {
          const tokens = await genericGrantRequest(client, DEVICE_GRANT, { device_code: deviceCode })
          if (!tokens.claims()) throw new ProviderError('rejected', 'no_id_token')
          return await claimsOf(client, tokens)
        } catch (error) {
          if (!(error instanceof ResponseBodyError) || error.status >= 500) throw error
          if (/^(authorization_pending|slow_down)$/.test(error.error))
            return { mustSlowDown: error.error === 'slow_down' }
          // The sign-in failed: another poll cannot succeed, even if the operator corrects the client ID or secret.
          throw new ProviderError('rejected', safeCode(error.error))
        }
      }),

    /** Returns the claims of a back-channel logout token. @throws ProviderError if the token is not valid */
    verifyLogout: (token: string) =>
      onProvider(async (): Promise<LogoutClaims> => {
        const { issuer, jwks_uri: uri, id_token_signing_alg_values_supported: supported } = await findServer()
        if (uri === undefined) throw new ProviderError('rejected', 'no_keys')
        const algorithms = (supported ?? ['RS256']).filter((name) => /^(RS|PS|ES)\d|^Ed/.test(name))
        const { payload, protectedHeader } = await jwtVerify(token, logoutKeysOf(uri), {
          issuer,
          audience: config.clientId,
          algorithms,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          maxTokenAge: LOGOUT_SECONDS,
          requiredClaims: ['jti'],
        })
        const { events, nonce, sub, sid, jti } = payload
        const isLogout = typeof events === 'object' && events !== null && LOGOUT_EVENT in events
        const isTyped =
          protectedHeader.typ === undefined || /^(application\/)?(logout\+)?jwt$/i.test(protectedHeader.typ)
        // Reject an ID token: unlike a logout token, it has a nonce and no event.
        if (!isLogout || !isTyped || nonce !== undefined) throw new ProviderError('rejected', 'not_a_logout_token')
        const [subject, providerSession] = [idOf(sub), idOf(sid)]
        if (subject === undefined && providerSession === undefined) throw new ProviderError('rejected', 'nobody_named')
        return { tokenId: String(jti), subject, providerSession }
      }),

    /**
     * Returns the address at which the person signs out of the provider; null if the provider has none or is
     * unavailable.
     */
    async signOutUrl(returnUrl: string): Promise<string | null> {
      try {
        const server = await findServer()
        if (!server.end_session_endpoint) return null
        return buildEndSessionUrl(clientOf(server), { post_logout_redirect_uri: returnUrl }).href
      } catch {
        // Return no address, because the provider is unavailable. The session of this server has already ended.
        return null
      }
    },

    close: () => agent.destroy(),
  }
}

/** Caches a value for METADATA_MS, and a failure for FAILURE_MS. Concurrent calls share a request. */
function cached<T>(make: () => Promise<T>): () => Promise<T> {
  let current: { value: Promise<T>; until: number } | undefined
  return () => {
    const now = performance.now()
    if (current && now < current.until) return current.value
    const made = { value: make(), until: now + METADATA_MS }
    made.value.catch(() => {
      made.until = performance.now() + FAILURE_MS
    })
    current = made
    return made.value
  }
}

/** Returns a claim that names a person or a session; `undefined` if it is missing, or the database cannot store it. */
function idOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && isWellFormedText(claim) ? claim : undefined
}

/** Returns a claim by its name, or by a path with dots, such as `realm_access.roles` of Keycloak. */
function claimAt(claims: object, name: string): unknown {
  const own = (object: unknown, key: string) =>
    typeof object === 'object' && object !== null && Object.hasOwn(object, key)
      ? (object as Record<string, unknown>)[key]
      : undefined
  return own(claims, name) ?? name.split('.').reduce<unknown>(own, claims)
}

function groupsOf(value: unknown): string[] {
  return [value].flat().filter((group) => typeof group === 'string')
}
