import { request } from 'undici'
import type { Store } from '../../../storage/store.ts'
import type { Config } from '../../config.ts'
import { type Check, examine, failed, passed, skipped } from './check.ts'

const TIMEOUT_MS = 10_000

/**
 * Checks the provider at which people sign in. Returns no check without a provider.
 * @param options.store undefined if the database cannot be queried
 */
export async function checkSignIn(
  { oidc, publicUrl }: Config,
  { store, clock }: { store: Pick<Store, 'workspaces'> | undefined; clock: () => Date },
): Promise<Check[]> {
  if (!oidc) return []
  const { CLOCK_TOLERANCE_SECONDS, createProvider } = await import('../../people/provider.ts')
  const { redirectUriOf } = await import('../../people/sign-in-routes.ts')
  const redirectUri = publicUrl && redirectUriOf(publicUrl.replace(/\/+$/, ''))
  const provider = createProvider(oidc, redirectUri ?? 'http://localhost/desk/callback')
  let isReachable = false
  try {
    return await examine('Sign-in', {
      Issuer: {
        fix: `check --oidc-issuer, and open ${documentOf(oidc.issuer)} from this machine`,
        async check() {
          const { jwks_uri: keys, code_challenge_methods_supported: methods } = await provider.metadata()
          isReachable = true
          if (!keys)
            return failed('The provider publishes no keys.', 'use an OpenID Connect provider that signs ID tokens')
          if (methods && !methods.includes('S256')) {
            return failed('The provider does not support PKCE with S256.', 'use a provider that supports PKCE')
          }
          return passed(oidc.issuer.href)
        },
      },
      'Redirect address': {
        fix: `register ${redirectUri} at the provider as a redirect address of the client ${oidc.clientId}`,
        async check() {
          if (redirectUri === undefined) return skipped('--public-url is not given')
          if (!isReachable) return skipped('the issuer does not respond')
          const checks = { state: 'doctor', nonce: 'doctor', codeVerifier: 'doctor'.repeat(8) }
          const location = await provider.signInUrl(checks)
          const { statusCode, body } = await request(location, { signal: AbortSignal.timeout(TIMEOUT_MS) })
          await body.dump()
          // Report only that the provider does not reject the address, because some providers respond with a page and
          // status 200 to an address that is not registered.
          if (statusCode < 400) return passed(`${redirectUri}: the provider does not reject it`)
          return failed(
            `The provider rejects a sign-in with ${redirectUri} (${statusCode}).`,
            `register this redirect address for the client ${oidc.clientId} at the provider`,
          )
        },
      },
      'Roles of groups': {
        fix: 'create the workspace (passes workspace create), or correct --oidc-role-map',
        async check() {
          if (!store) return skipped('the database cannot be read')
          const missing: string[] = []
          for (const { workspace } of oidc.groupRoles) {
            if (!(await store.workspaces.findByNameOrId(workspace))) missing.push(workspace)
          }
          if (missing.length === 0) return passed(`${oidc.groupRoles.length} mapped`)
          return failed(`The role map names workspaces that do not exist: ${[...new Set(missing)].join(', ')}.`)
        },
      },
      Clock: {
        fix: 'synchronize the clock of this machine, for example with NTP',
        async check() {
          if (!isReachable) return skipped('the issuer does not respond')
          const { headers, body } = await request(documentOf(oidc.issuer), { signal: AbortSignal.timeout(TIMEOUT_MS) })
          await body.dump()
          const theirs = Date.parse(String(headers.date))
          if (Number.isNaN(theirs)) return skipped('the provider sends no time')
          const seconds = Math.round(Math.abs(clock().getTime() - theirs) / 1000)
          if (seconds <= CLOCK_TOLERANCE_SECONDS) return passed(`${seconds} s apart from the provider`)
          return failed(`The clock differs from the provider by ${seconds} s, so tokens of the provider are rejected.`)
        },
      },
    })
  } finally {
    await provider.close()
  }
}

/** The address of the description of a provider (OpenID Connect Discovery 1.0). */
function documentOf({ href }: URL): string {
  return `${href.replace(/\/$/, '')}/.well-known/openid-configuration`
}
