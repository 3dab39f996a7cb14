import { type AuthClient, BaseExternalAccountClient, GoogleAuth } from 'google-auth-library'
import { z } from 'zod'
import { CredentialError } from '../../wallet.ts'
import type { KeylessIdentity } from '../google-identity.ts'
import { parseAs } from '../resource.ts'
import { GoogleApiError } from './api-error.ts'
import { type HttpOptions, send } from './http.ts'
import { keepToken } from './token.ts'

// The scopes of the Wallet API and of the service that creates signatures.
const SCOPES = [
  'https://www.googleapis.com/auth/wallet_object.issuer',
  'https://www.googleapis.com/auth/cloud-platform',
]
const IAM = 'https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts'

export interface KeylessOptions extends HttpOptions {
  issuerId: string
  /** The content of a file for workload identity or impersonation. Default: the credentials of the machine. */
  configuration?: object | undefined
}

/**
 * Creates the identity of a service account whose key stays at Google. Tokens come from workload identity or from the
 * machine to which the account is attached. Google signs save links, so the account needs the role Service Account
 * Token Creator on itself.
 * @throws CredentialError if there are no credentials, or they name no service account
 */
export async function createKeylessIdentity({
  issuerId,
  configuration,
  ...http
}: KeylessOptions): Promise<KeylessIdentity> {
  const create = () => connect(configuration, http)
  const { client_email: clientEmail } = await create()
    .getCredentials()
    .catch((cause: unknown) => {
      throw new CredentialError(`${NO_ACCOUNT} (${cause instanceof Error ? cause.message : cause})`, { cause })
    })
  if (!clientEmail) throw new CredentialError(NO_ACCOUNT)
  const tokens = keepToken(async () => withServerConnections(await create().getClient()))
  return {
    issuerId,
    clientEmail,
    tokens,
    async signJwt(claims) {
      const { text } = await send(
        {
          method: 'POST',
          url: `${iamOf(configuration)}/${encodeURIComponent(clientEmail)}:signJwt`,
          headers: { authorization: `Bearer ${await tokens.get()}`, 'content-type': 'application/json' },
          body: JSON.stringify({ payload: JSON.stringify(claims) }),
        },
        http,
      )
      const signed = parseAs(Signed, text)?.signedJwt
      if (signed) return signed
      throw new GoogleApiError({ kind: 'unavailable', message: 'The response of Google has no signature.' })
    },
  }
}

const NO_ACCOUNT =
  'No Google service account is available. Attach one to this machine, or set --google-key to a credential ' +
  'configuration of workload identity that gcloud created with --service-account'

const Signed = z.object({ signedJwt: z.string() })
const Impersonation = z.object({ service_account_impersonation_url: z.string() })

/**
 * Returns the base URL of the service that creates signatures: the one in the impersonation URL, or Google's by
 * default.
 */
function iamOf(configuration: object | undefined): string {
  const { data } = Impersonation.safeParse(configuration)
  return data?.service_account_impersonation_url.replace(/\/[^/]*$/, '') ?? IAM
}

/** Makes the token exchange use this server's HTTP client. The library has no option for this. */
function withServerConnections(client: AuthClient): AuthClient {
  if (client instanceof BaseExternalAccountClient) {
    Object.assign(Reflect.get(client, 'stsCredential'), { transporter: client.transporter })
  }
  return client
}

/**
 * Creates the client of the library. All requests use this server's HTTP client, except those to the metadata server of
 * this machine.
 */
function connect(configuration: object | undefined, http: HttpOptions): GoogleAuth {
  return new GoogleAuth({
    scopes: SCOPES,
    ...(configuration && { credentials: configuration }),
    clientOptions: {
      transporterOptions: {
        // Disable the retries of the library, because the caller retries with better delays.
        retryConfig: { retry: 0 },
        async fetchImplementation(input, init) {
          const request = new Request(input as URL, { ...init, signal: null } as RequestInit)
          const { status, text, headers } = await send(
            {
              method: request.method as 'GET' | 'POST',
              url: request.url,
              headers: Object.fromEntries(request.headers),
              ...(request.body && { body: await request.text() }),
            },
            http,
          )
          return new Response(text, { status, headers: { 'content-type': String(headers['content-type'] ?? '') } })
        },
      },
    },
  })
}
