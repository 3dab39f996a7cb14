import type { JWT } from 'google-auth-library'
import type { AccessTokens, GoogleIdentity, GoogleSigner } from '../identity.ts'
import { GoogleApiError } from './api-error.ts'
import { type HttpOptions, send } from './http.ts'

const SCOPE = 'https://www.googleapis.com/auth/wallet_object.issuer'

/** Whose access tokens are had, and where. */
export interface AccessTokenOptions extends HttpOptions {
  identity: GoogleSigner
  /** Where tokens are had. */
  url: string
}

/** Access tokens for Google's APIs, renewed before they end. */
export function createAccessTokens(options: AccessTokenOptions): AccessTokens {
  const { identity } = options
  return 'tokens' in identity ? identity.tokens : keepToken(() => createClient(identity, options))
}

/** What has access tokens; the library's clients keep each while it is good. */
type TokenSource = Pick<JWT, 'getAccessToken'>

/** Asks a source, which the first request makes, and one that is made anew once its token is taken no longer. */
export function keepToken(create: () => Promise<TokenSource>): AccessTokens {
  let source: Promise<TokenSource> | undefined
  let latest: string | undefined
  return {
    async get() {
      source ??= create()
      const asked = source
      try {
        latest = await request(asked)
        return latest
      } catch (error) {
        // What could not be made may be made the next time.
        if (source === asked) source = undefined
        throw error
      }
    },
    forget(token) {
      // Of many callers that were refused together only the first one finds it still the latest.
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
    // The library wraps what its fetch throws.
    const cause = error instanceof Error ? error.cause : undefined
    if (error instanceof GoogleApiError) throw error
    if (cause instanceof GoogleApiError) throw cause
    throw new GoogleApiError({ kind: 'unavailable', message: 'Google gave no access token.', cause: error })
  }
  if (token) return token
  throw new GoogleApiError({ kind: 'unavailable', message: 'Google answered without an access token.' })
}

/** The library takes long to load, and is not needed before the first request. */
async function createClient(identity: GoogleIdentity, options: AccessTokenOptions): Promise<JWT> {
  const { JWT } = await import('google-auth-library')
  return new JWT({
    email: identity.clientEmail,
    key: identity.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    keyId: identity.privateKeyId,
    scopes: [SCOPE],
    transporterOptions: {
      // Whoever asked tries again, and knows better when.
      retryConfig: { retry: 0 },
      // The library's one way to another token address, and to the connections of everything else.
      async fetchImplementation(_, init) {
        const headers = Object.fromEntries(new Headers(init?.headers))
        const request = { method: 'POST', url: options.url, headers, body: String(init?.body) } as const
        const reply = await send(request, options).catch(refused)
        return new Response(reply.text, { status: reply.status })
      },
    },
  })
}

/** Whatever the token endpoint says no to, it is the service account that it will not have. */
function refused(error: unknown): never {
  if (!(error instanceof GoogleApiError) || error.kind === 'unavailable' || error.kind === 'quota') throw error
  const { message, reason } = error
  throw new GoogleApiError({
    kind: 'permission',
    message,
    reason: reason ?? undefined,
    status: error.status ?? undefined,
  })
}
