import { generateKeyPairSync } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { OidcConfig } from '../../src/server/config.ts'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** A person at the provider. */
export interface Account {
  sub: string
  email?: string
  email_verified?: boolean | string
  groups?: string[]
}

/** A real OpenID Connect provider on loopback. The current account is signed in without a prompt. */
export class TestProvider {
  account: Account = { sub: '1', email: 'anna@example.com', email_verified: true }
  /** Replaces the ID tokens of responses. */
  changeIdToken: ((idToken: string) => Promise<string>) | undefined
  /** The error with which the provider responds to requests for tokens. */
  tokenError: string | undefined
  /** Whether the provider closes each connection without a response. */
  isDown = false
  url = ''
  /** Whether people can sign in on another device. Set it before the start. */
  hasDeviceFlow = false
  /** The private key that signs tokens. */
  key = newKey('first')
  private provider!: Provider
  private readonly publicUrl: string
  private readonly server = createServer((request, response) => {
    if (this.isDown) return void request.socket.destroy()
    if (request.url!.startsWith('/interaction/')) return void this.signIn(request, response)
    if (request.url === '/token' && this.tokenError !== undefined) {
      response.writeHead(400, { 'content-type': 'application/json' })
      return void response.end(JSON.stringify({ error: this.tokenError }))
    }
    if (request.url === '/token') this.changeTokens(response)
    this.provider.callback()(request, response)
  })

  /** @param publicUrl the address of the server whose people sign in */
  constructor(publicUrl = 'https://passes.example') {
    this.publicUrl = publicUrl
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
    this.create()
  }

  /** Replaces the key that signs tokens. */
  rotateKey(name: string): void {
    this.key = newKey(name)
    this.create()
  }

  config(options: Partial<OidcConfig> = {}): OidcConfig {
    const client = { clientId: 'passes', clientSecret: 'client-secret-of-passes' }
    return { issuer: new URL(this.url), ...client, trustsEmail: false, groupRoles: [], ...options }
  }

  /** Follows the redirects of the provider as a browser. Returns the redirect to the server. */
  async visit(location: string): Promise<URL> {
    const browser = createBrowser((url) => url.href.startsWith(this.redirectUri))
    const { url, response } = await browser(new URL(location))
    if (response) throw new Error(`No redirect: ${response.status} ${await response.text()}`)
    return url
  }

  /** Enters the code of a sign-in on another device, and confirms it. */
  async enterCode(address: string, code: string): Promise<string> {
    const browser = createBrowser(() => false)
    let answer = await browser(new URL(address))
    for (const more of [{}, { confirm: 'yes' }] as Record<string, string>[]) {
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(await answer.response!.text())![1]!
      answer = await browser(new URL(address), { xsrf, user_code: code, ...more })
    }
    return answer.response!.text()
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  private get redirectUri(): string {
    return `${this.publicUrl}/desk/callback`
  }

  private create(): void {
    this.provider = new Provider(this.url, {
      clients: [
        {
          client_id: 'passes',
          client_secret: 'client-secret-of-passes',
          redirect_uris: [this.redirectUri],
          token_endpoint_auth_method: 'client_secret_post',
          grant_types: ['authorization_code', ...(this.hasDeviceFlow ? [DEVICE_GRANT] : [])],
          post_logout_redirect_uris: [`${this.publicUrl}/desk`],
        },
      ],
      jwks: { keys: [this.key] },
      cookies: { keys: ['cookie-key'] },
      conformIdTokenClaims: false,
      claims: { openid: ['sub', 'sid'], email: ['email', 'email_verified'], profile: ['groups'] },
      features: { devInteractions: { enabled: false }, deviceFlow: { enabled: this.hasDeviceFlow } },
      interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      findAccount: () => ({ accountId: this.account.sub, claims: () => this.account }),
      async loadExistingGrant(context: GrantContext) {
        const { client, session, provider } = context.oidc
        const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
    })
  }

  private changeTokens(response: ServerResponse): void {
    const end = response.end.bind(response)
    response.end = ((body: string) => {
      const tokens = JSON.parse(body)
      void Promise.resolve(this.changeIdToken?.(tokens.id_token) ?? tokens.id_token).then((idToken) => {
        const changed = JSON.stringify({ ...tokens, id_token: idToken })
        response.setHeader('content-length', Buffer.byteLength(changed))
        end(changed)
      })
    }) as never
  }

  private async signIn(...[request, response]: Parameters<Parameters<typeof createServer>[1] & object>): Promise<void> {
    await this.provider.interactionDetails(request, response)
    await this.provider.interactionFinished(request, response, { login: { accountId: this.account.sub } })
  }
}

interface GrantContext {
  oidc: {
    client: { clientId: string }
    session: { accountId: string }
    provider: { Grant: new (options: object) => { addOIDCScope(scope: string): void; save(): Promise<void> } }
  }
}

function newKey(kid: string): Record<string, unknown> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }
}

/** Creates a browser with cookies, which follows redirects until one leads to an address that `isWanted` accepts. */
function createBrowser(isWanted: (url: URL) => boolean) {
  const cookies = new Map<string, string>()
  return async function open(start: URL, form?: Record<string, string>) {
    let body = form && new URLSearchParams(form)
    for (let url = start; ; body = undefined) {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const init = { ...(body && { method: 'POST', body }), redirect: 'manual' as const, headers: { cookie } }
      const response = await fetch(url, init)
      for (const one of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(one)!
        cookies.set(name!, value!)
      }
      const next = response.headers.get('location')
      if (next === null) return { url, response }
      url = new URL(next, url)
      if (isWanted(url)) return { url }
    }
  }
}
