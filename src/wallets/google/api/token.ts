import type { JWT } from 'google-auth-library'
import type { AccessTokens, GoogleIdentity, GoogleSigner } from '../google-identity.ts'
import { GoogleApiError } from './api-error.ts'
import { type HttpOptions, send } from './http.ts'

const SCOPE = 'https://www.googleapis.com/auth/wallet_object.issuer'

export interface AccessTokenOptions extends HttpOptions {
  identity: GoogleSigner
  url: string
}

/** Returns the source of access tokens of an identity. Tokens are renewed before they expire. */
export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  const { identity } = options
  return 'tokens' in identity ? identity.tokens : keepToken(() => createClient(identity, options))
}

/** A client that creates access tokens. Clients of the library cache each valid token. */
type TokenSource = Pick<JWT, 'getAccessToken'>

/** Creates the source on the first request, and again after a failed request or a rejected token. */
export function keepToken(create: () => Promise<TokenSource>): AccessTokens {
  let source: Promise<TokenSource> | undefined
  let latest: string | undefined
  return {
    async get() {
      source ??= create()
      const requested = source
      try {
        latest = await request(requested)
        return latest
      } catch (error) {
        // After a failure, let the next request create the source again.
        if (source === requested) source = undefined
        throw error
      }
    },
    forget(token) {
      // If several callers report the same token, only the first report discards it. Later reports must not discard the
      // new token.
      if (token !== latest) return
      latest = undefined
      source = undefined
    },
  }
}

async function request(source: Promise<TokenSource>): Promise<string> {
  let token: string | null | undefined
  try {
    token = (await (await source).getAccessToken()).token
  } catch (error) {
    // The library wraps errors of this server's HTTP client in another error. Its `cause` is the original error.
    const cause = error instanceof Error ? error.cause : undefined
    if (error instanceof GoogleApiError) throw error
    if (cause instanceof GoogleApiError) throw cause
    throw new GoogleApiError({ kind: 'unavailable', message: 'Google returned no access token.', cause: error })
  }
  if (token) return token
  throw new GoogleApiError({ kind: 'unavailable', message: 'The response of Google has no access token.' })
}

/**
 * Creates the client of the library. Loads the library on first use, because loading is slow, and the server can start
 * without the library.
 */
async function createClient(identity: GoogleIdentity, options: AccessTokenOptions): Promise<JWT> {
  const { JWT } = await import('google-auth-library')
  return new JWT({
    email: identity.clientEmail,
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    keyId: identity.privateKeyId,
    scopes: [SCOPE],
    transporterOptions: {
      // Disable the retries of the library, because the caller retries with better delays.
      retryConfig: { retry: 0 },
      // Use `options.url` and this server's HTTP client. The library has no other option for this.
      async fetchImplementation(_, init) {
        const headers = Object.fromEntries(new Headers(init?.headers))
        const request = { method: 'POST', url: options.url, headers, body: String(init?.body) } as const
        const reply = await send(request, options).catch(throwRejection)
        return new Response(reply.text, { status: reply.status })
      },
    },
  })
}

/** Throws the error of the token endpoint. A rejection always means that Google does not accept the service account. */
function throwRejection(error: unknown): never {
  if (!(error instanceof GoogleApiError) || error.kind === 'unavailable' || error.kind === 'quota') throw error
  const { message, reason } = error
  throw new GoogleApiError({
    kind: 'permission',
    message,
    reason: reason ?? undefined,
    status: error.status ?? undefined,
  })
}
