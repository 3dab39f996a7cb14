import { expect } from 'vitest'
import { tokenDigest } from '../../src/core/rules/crypto/token.ts'
import type { Grant } from '../../src/core/rules/people/person-roles.ts'
import type { OidcConfig } from '../../src/server/config.ts'
import { newSessionSecret } from '../../src/server/http/middleware/sessions.ts'
import { type Api, type SendOptions, TestWorkspace } from './api.ts'

/** A provider that no request reaches, for tests that insert sessions. */
export const silentProvider: OidcConfig = {
  issuer: new URL('https://login.example'),
  clientId: 'passes',
  clientSecret: 'client-secret-of-passes',
  trustsEmail: false,
  groupRoles: [],
}

let people = 0

/** Creates a person with roles in a workspace. Its client sends the cookie and the CSRF token of a session. */
export async function signedIn(api: Api, workspaceId: string, grants: Grant[]): Promise<TestWorkspace> {
  people += 1
  const email = `person-${people}@example.com`
  const secret = newSessionSecret()
  const expiresAt = new Date(api.now.getTime() + 3_600_000)
  await api.services.store.transaction(async (tx) => {
    for (const grant of grants) await tx.members.insertOrUpdate(workspaceId, { ...grant, email }, api.now)
    const claims = { issuer: silentProvider.issuer.href, subject: `${people}`, email, claimedRoles: [] }
    const { id: personId } = await tx.people.signIn(claims, api.now)
    const session = { digest: tokenDigest(secret), personId, providerSession: null, expiresAt }
    await tx.sessions.insert(workspaceId, session, api.now)
  })
  const cookie = `__Host-passes-session=${secret}`
  const shown = await api.send('GET', '/desk/session', { headers: { cookie } })
  expect(shown.status, shown.text).toBe(200)
  return new PersonWorkspace(api, workspaceId, cookie, (shown.body as { csrfToken: string }).csrfToken)
}

class PersonWorkspace extends TestWorkspace {
  private readonly csrfToken: string

  constructor(api: Api, workspaceId: string, cookie: string, csrfToken: string) {
    super(api, workspaceId, cookie)
    this.csrfToken = csrfToken
  }

  override send(method: string, target: string, options: SendOptions = {}) {
    const headers = { cookie: this.token, 'x-csrf-token': this.csrfToken, ...options.headers }
    return this.api.send(method, target, { ...options, headers })
  }
}
