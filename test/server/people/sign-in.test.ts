import { decodeJwt, importJWK, SignJWT } from 'jose'
import type { DestinationStream } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Grant } from '../../../src/core/rules/people/person-roles.ts'
import { createLimits } from '../../../src/server/admission/rate-limit.ts'
import { createLogger } from '../../../src/server/log.ts'
import { checkSignIn } from '../../../src/server/operator/doctor/sign-in-checks.ts'
import { listAudit, resolveSearch } from '../../../src/server/operator/list-audit.ts'
import { addMember, listMembers, removeMember, revokeSessions } from '../../../src/server/operator/manage-members.ts'
import { createProvider } from '../../../src/server/people/provider.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { testConfig } from '../../support/config.ts'
import { dialects, oneDialect } from '../../support/databases.ts'
import { TestProvider } from '../../support/oidc.ts'
import { makeProject } from '../fixtures.ts'

const SESSION = '__Host-passes-session'
const SIGN_IN = '__Host-passes-sign-in'

const NOBODY = '01985f0c-7a10-7000-8000-00000000dead'
const UUID = /[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g

/** The response of GET /desk/session. */
interface Shown {
  email: string
  workspace: { id: string; name: string }
  roles: Grant[]
  csrfToken: string
}

const provider = new TestProvider()
/** A provider at which people can also sign in on another device. */
const device = new TestProvider()
device.hasDeviceFlow = true
beforeAll(() => Promise.all([provider.start(), device.start()]))
afterAll(() => Promise.all([provider.close(), device.close()]))

const logged: string[] = []
const log = createLogger('debug', { write: (line: string) => void logged.push(line) } as DestinationStream)

describe.each(dialects)('people who sign in, on %s', (dialect) => {
  const roles = [{ group: 'Box Office', role: 'support' as const, workspace: 'default' }]
  /** The requests that count toward the limit of their address. */
  let limited = 0
  const { byAddress } = createLimits({ perSecond: 0, burst: 0 })
  const api = useApi(dialect, {
    log,
    limits: { byAddress: { ...byAddress, address: () => void limited++ } },
    oidc: () => provider.config({ rolesClaim: 'groups', groupRoles: roles }),
  })
  let workspace: TestWorkspace
  let other: TestWorkspace

  beforeAll(async () => {
    workspace = await api.workspace()
    other = await api.workspace()
    await api.services.store.transaction((tx) => tx.workspaces.insert('default', api.now))
  })

  beforeEach(() => {
    provider.account = { sub: '1', email: 'anna@example.com', email_verified: true }
    provider.isDown = false
    provider.changeIdToken = undefined
  })

  const nameOf = async ({ id }: TestWorkspace) => (await api.services.store.workspaces.findByNameOrId(id))!.name

  const member = (email: string, role: Grant['role'], where = workspace, project?: string[]) =>
    addMember(api.services.store, where.id, { email, role, project }, api.now)

  /** Returns the cookies that a response sets. */
  function cookiesOf({ headers }: { headers: Headers }): Map<string, string> {
    return new Map(headers.getSetCookie().map((one) => /^([^=]+)=([^;]*)/.exec(one)!.slice(1) as [string, string]))
  }

  const get = (path: string, cookie = '') => api.send('GET', path, { headers: { cookie } })

  async function begin(query = '') {
    const answer = await get(`/desk/login${query}`)
    expect(answer.status, answer.text).toBe(303)
    return { location: answer.headers.get('location')!, cookie: `${SIGN_IN}=${cookiesOf(answer).get(SIGN_IN)}` }
  }

  /** Signs in as a browser, and returns the response to the redirect of the provider. */
  async function signIn(query = '', cookies = '') {
    const { location, cookie } = await begin(query)
    const back = await provider.visit(location)
    return get(back.pathname + back.search, `${cookie}; ${cookies}`)
  }

  /** Signs in with a role, and returns the cookie of the session with its CSRF token. */
  async function session(query = '') {
    const answer = await signIn(query)
    expect(answer.status, answer.text).toBe(303)
    const cookie = `${SESSION}=${cookiesOf(answer).get(SESSION)}`
    const shown = await get('/desk/session', cookie)
    expect(shown.status, shown.text).toBe(200)
    const body = shown.body as Shown
    return { cookie, shown: body, csrf: body.csrfToken, location: answer.headers.get('location') }
  }

  const create = (headers: Record<string, string>) =>
    api.send('POST', '/v1/projects', { body: { name: 'Gala' }, headers })

  test('a session acts with the roles of a member, and its changes need the CSRF token', async () => {
    await member('Anna@Example.com'.toLowerCase(), 'editor')
    provider.account.email = 'Anna@EXAMPLE.com'
    const { cookie, csrf, shown } = await session()
    expect(shown).toMatchObject({
      email: 'anna@example.com',
      workspace: { id: workspace.id },
      roles: [{ role: 'editor', projectIds: null }],
    })
    expect((await get('/v1/projects', cookie)).status).toBe(200)
    for (const headers of [{ cookie }, { cookie, 'x-csrf-token': 'x' }, { cookie, 'x-csrf-token': csrf.slice(1) }]) {
      expect(await create(headers as never)).toMatchObject({ status: 403, body: { errorCode: 'CSRF_TOKEN_INVALID' } })
    }
    const made = await create({ cookie, 'x-csrf-token': csrf })
    expect(made.status, made.text).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    expect(await get('/v1/webhooks', cookie)).toMatchObject({
      status: 403,
      body: { details: { scope: 'webhooks:read' } },
    })
    // A token takes precedence, and needs no CSRF token.
    expect((await create({ cookie, authorization: `Bearer ${other.token}` })).status).toBe(201)
    const { items } = await listAudit(
      api.services.store,
      await resolveSearch(api.services.store, { actors: ['anna@example.com'], workspace: workspace.id }),
      { limit: 10 },
    )
    const actor = { kind: 'person', email: 'anna@example.com', subject: '1' }
    expect(items).toEqual([
      expect.objectContaining({
        action: 'project.create',
        actor,
        tokenId: null,
        targetId: (made.body as { id: string }).id,
      }),
      expect.objectContaining({ action: 'session.create', actor, tokenId: null }),
    ])
  })

  test('sets cookies that scripts and other hosts cannot use, and logs no secret', async () => {
    await member('anna@example.com', 'reader')
    logged.length = 0
    const { location, cookie } = await begin()
    const back = await provider.visit(location)
    const answer = await get(back.pathname + back.search, cookie)
    for (const set of answer.headers.getSetCookie()) {
      expect(set).toMatch(/^__Host-[\w-]+=[^;]*; Path=\/; Max-Age=\d+; HttpOnly; Secure; SameSite=Lax$/)
    }
    expect(cookiesOf(answer).get(SIGN_IN)).toBe('')
    const secret = cookiesOf(answer).get(SESSION)!
    await get('/v1/projects', `${SESSION}=${secret}`)
    expect(logged.length).toBeGreaterThan(0)
    const sealed = cookie.slice(SIGN_IN.length + 1)
    for (const hidden of [secret, sealed, back.searchParams.get('code')!, 'client-secret-of-passes', 'anna@']) {
      expect(logged.join('')).not.toContain(hidden)
    }
    const stored = JSON.stringify(await api.database.reader('sessions'))
    expect(stored).not.toContain(secret)
  })

  test('returns to the desk only, regardless of the requested address', async () => {
    await member('anna@example.com', 'reader')
    const desk = 'https://passes.example/desk'
    expect((await session('?return=%3Fwall%26project%3DGala')).location).toBe(`${desk}?wall=&project=Gala`)
    expect((await session('?return=%3Fproject%3DGala%23pass%3D7')).location).toBe(`${desk}?project=Gala#pass=7`)
    expect((await session('?return=%23pass%3D7')).location).toBe(`${desk}#pass=7`)
    for (const evil of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      '@evil.example',
      '?x\r\nSet-Cookie: a=b',
      '#x\r\nSet-Cookie: a=b',
    ]) {
      const { location } = await session(`?return=${encodeURIComponent(evil)}`)
      const { origin, pathname } = new URL(location!)
      expect(origin + pathname).toBe(desk)
      expect(location).not.toMatch(/[\r\n]/)
    }
  })

  test('rejects a redirect with the state or cookie of another sign-in, and a repeated one', async () => {
    await member('anna@example.com', 'reader')
    const mine = await begin()
    const theirs = await begin()
    const back = await provider.visit(theirs.location)
    for (const cookie of ['', mine.cookie, `${SIGN_IN}=forged`, theirs.cookie.slice(0, -3)]) {
      const answer = await get(back.pathname + back.search, cookie)
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('Sign in again')
      expect(cookiesOf(answer).has(SESSION)).toBe(false)
    }
    expect((await get(back.pathname + back.search, theirs.cookie)).status).toBe(303)
    expect((await get(back.pathname + back.search, theirs.cookie)).status).toBe(400)
    const late = await begin()
    const lateBack = await provider.visit(late.location)
    api.advance(601)
    expect((await get(lateBack.pathname + lateBack.search, late.cookie)).status).toBe(400)
  })

  test('ends the previous session of the browser, and never accepts a session that it did not create', async () => {
    await member('anna@example.com', 'reader')
    const former = await session()
    const answer = await signIn('', `${former.cookie}`)
    expect(cookiesOf(answer).get(SESSION)).not.toBe(former.cookie.slice(SESSION.length + 1))
    api.advance(2)
    expect((await get('/v1/projects', former.cookie)).status).toBe(401)
    const planted = `${SESSION}=${'A'.repeat(43)}`
    const before = limited
    expect((await get('/desk/session', planted)).status).toBe(401)
    expect(limited - before).toBe(1)
    const next = await signIn('', planted)
    expect(cookiesOf(next).get(SESSION)).not.toBe('A'.repeat(43))
    expect((await get('/v1/projects', planted)).status).toBe(401)
  })

  test('ends the previous session of the browser if another account signs in and gets no session', async () => {
    await member('anna@example.com', 'reader')
    for (const where of [other, await api.workspace()]) await member('several@example.com', 'reader', where)
    for (const account of [
      { sub: '5', email: 'unknown@example.com', email_verified: true },
      { sub: '5', email: 'unknown@example.com', email_verified: false },
      { sub: '6', email: 'several@example.com', email_verified: true },
    ]) {
      provider.account = { sub: '1', email: 'anna@example.com', email_verified: true }
      const former = await session()
      provider.account = account
      expect([200, 403]).toContain((await signIn('', former.cookie)).status)
      api.advance(2)
      expect((await get('/desk/session', former.cookie)).status).toBe(401)
    }
    const { items } = await listAudit(
      api.services.store,
      await resolveSearch(api.services.store, { actors: ['anna@example.com'], workspace: workspace.id }),
      { limit: 1 },
    )
    expect(items).toEqual([expect.objectContaining({ action: 'session.end' })])
  })

  test('ends a session after an idle hour, and after twelve hours', async () => {
    await member('anna@example.com', 'reader')
    const idle = await session()
    api.advance(3_500)
    expect((await get('/v1/projects', idle.cookie)).status).toBe(200)
    // The next read must see the time that was stored in the background.
    await expect
      .poll(() => api.database.reader('sessions').max({ at: 'last_used_at' }).first())
      .toEqual({ at: api.now.getTime() })
    api.advance(3_500)
    expect((await get('/v1/projects', idle.cookie)).status).toBe(200)
    api.advance(3_601)
    expect(await get('/v1/projects', idle.cookie)).toMatchObject({ status: 401, body: { errorCode: 'TOKEN_EXPIRED' } })
    const busy = await session()
    const until = api.now.getTime() + 12 * 3_600_000
    while (api.now.getTime() < until - 3_000_000) {
      api.advance(3_000)
      expect((await get('/v1/projects', busy.cookie)).status).toBe(200)
      await expect
        .poll(() => api.database.reader('sessions').max({ at: 'last_used_at' }).first())
        .toEqual({ at: api.now.getTime() })
    }
    api.advance(3_001)
    expect((await get('/v1/projects', busy.cookie)).status).toBe(401)
  })

  test('removing a member, revoking, and signing out end sessions within two seconds', async () => {
    const { store } = api.services
    const endings: ((cookie: string, csrf: string) => Promise<unknown>)[] = [
      () => removeMember(store, workspace.id, { email: 'anna@example.com', role: undefined }, api.now),
      () => revokeSessions(store, workspace.id, 'anna@example.com', api.now),
      async (cookie, csrf) => {
        const without = await api.send('POST', '/desk/logout', { headers: { cookie } })
        expect(without).toMatchObject({ status: 403, body: { errorCode: 'CSRF_TOKEN_INVALID' } })
        const done = await api.send('POST', '/desk/logout', { headers: { cookie, 'x-csrf-token': csrf } })
        expect(done.status).toBe(200)
        expect(done.text).toContain(`${provider.url}/session/end?`)
        expect(cookiesOf(done).get(SESSION)).toBe('')
      },
    ]
    for (const end of endings) {
      await member('anna@example.com', 'reader')
      const { cookie, csrf } = await session()
      expect(await listMembers(store, workspace.id, api.now)).toMatchObject([
        { email: 'anna@example.com', sessions: [{}] },
      ])
      await end(cookie, csrf)
      api.advance(2)
      expect((await get('/v1/projects', cookie)).status).toBe(401)
      expect((await listMembers(store, workspace.id, api.now)).flatMap(({ sessions }) => sessions)).toEqual([])
    }
    await member('anna@example.com', 'reader')
  })

  test('signs out in a suspended workspace, which rejects all other requests', async () => {
    const closed = await api.workspace()
    await member('dan@example.com', 'reader', closed)
    provider.account = { sub: '7', email: 'dan@example.com', email_verified: true }
    const { cookie, csrf } = await session()
    await api.services.store.transaction((tx) => tx.workspaces.update(closed.id, { suspendedAt: api.now }))
    api.advance(2)
    expect((await get('/desk/session', cookie)).status).toBe(403)
    const signOut = (headers: object) => api.send('POST', '/desk/logout', { headers: { cookie, ...headers } })
    expect(await signOut({})).toMatchObject({ status: 403, body: { errorCode: 'CSRF_TOKEN_INVALID' } })
    const done = await signOut({ 'x-csrf-token': csrf })
    expect([done.status, done.text]).toEqual([200, expect.stringContaining(`${provider.url}/session/end?`)])
    expect(await api.database.reader('sessions').where({ workspace_id: closed.id })).toEqual([])
    api.advance(2)
    expect((await get('/desk/session', cookie)).status).toBe(401)
  })

  test('a canceled sign-in keeps the earlier session, and its page does not deny the session', async () => {
    await member('anna@example.com', 'reader')
    const { cookie } = await session()
    const pending = await begin()
    const state = new URL(pending.location).searchParams.get('state')
    const query = new URLSearchParams({ error: 'access_denied', state: state!, iss: provider.url })
    const answer = await get(`/desk/callback?${query}`, `${pending.cookie}; ${cookie}`)
    expect(answer.status).toBe(403)
    expect(answer.text).toContain('The sign-in was not completed.')
    expect((await get('/desk/session', cookie)).status).toBe(200)
  })

  test('rejects an address that is missing, unverified, or has no role', async () => {
    for (const account of [
      { sub: '2', email: 'anna@example.com' },
      { sub: '2', email: 'anna@example.com', email_verified: false },
      { sub: '2', email_verified: true },
      { sub: '2', email: 'anna@example.com\u212a', email_verified: false },
      { sub: '2', email: '<b>@example.com', email_verified: true },
      // The Kelvin sign, whose lower case is the letter k.
      { sub: '2', email: '\u212aate@example.com', email_verified: true },
    ]) {
      await member('kate@example.com', 'owner')
      provider.account = account
      const answer = await signIn()
      expect(answer.status, answer.text).toBe(403)
      expect(answer.text).not.toContain('<b>@')
      expect(cookiesOf(answer).has(SESSION)).toBe(false)
      expect(answer.headers.get('x-frame-options')).toBe('DENY')
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
    // Anyone can have an account at the provider, so that stored accounts without a role would grow without a limit.
    provider.account = { sub: 'stranger', email: 'stranger@example.com', email_verified: true }
    expect((await signIn()).status).toBe(403)
    expect(await api.database.reader('people').where({ subject: 'stranger' })).toEqual([])
  })

  test('groups give roles in the workspace default, until the next sign-in without them', async () => {
    provider.account = {
      sub: '3',
      email: 'ben@example.com',
      email_verified: true,
      groups: ['Box Office', 'reader', 'nothing'],
    }
    const { cookie, shown } = await session()
    expect(shown.workspace.name).toBe('default')
    expect(shown.roles.map(({ role }) => role).sort()).toEqual(['reader', 'support'])
    provider.account.groups = []
    expect((await signIn()).status).toBe(403)
    api.advance(2)
    expect((await get('/v1/projects', cookie)).status).toBe(401)
  })

  test('a person with several workspaces selects one, and acts in no other', async () => {
    provider.account = { sub: '4', email: 'cleo@example.com', email_verified: true }
    await member('cleo@example.com', 'owner', workspace)
    await member('cleo@example.com', 'reader', other)
    const [first, second] = [await nameOf(workspace), await nameOf(other)]
    const choice = await signIn('?return=%3Fwall%23pass%3D7')
    expect(choice.status).toBe(200)
    expect(cookiesOf(choice).has(SESSION)).toBe(false)
    for (const name of [first, second]) expect(choice.text).toContain(name)
    expect(choice.text).toContain('return=%3Fwall%3D%23pass%3D7')
    const reading = await session(`?workspace=${encodeURIComponent(second)}`)
    expect(reading.shown).toMatchObject({ workspace: { name: second }, roles: [{ role: 'reader' }] })
    expect((await create({ cookie: reading.cookie, 'x-csrf-token': reading.csrf })).status).toBe(403)
    const { id } = await makeProject(workspace)
    expect((await get(`/v1/projects/${id}`, reading.cookie)).status).toBe(404)
    const owning = await session(`?workspace=${workspace.id}`)
    expect((await create({ cookie: owning.cookie, 'x-csrf-token': owning.csrf })).status).toBe(201)
    // The CSRF token of another session of the same person is not accepted.
    expect((await create({ cookie: owning.cookie, 'x-csrf-token': reading.csrf })).status).toBe(403)
    const third = await api.workspace()
    expect((await signIn(`?workspace=${third.id}`)).status).toBe(403)
  })

  test('an earlier session works while the provider is down, and a sign-in shows a page', async () => {
    await member('anna@example.com', 'reader')
    const { cookie } = await session()
    const pending = await begin()
    const back = await provider.visit(pending.location)
    provider.isDown = true
    expect((await get('/v1/projects', cookie)).status).toBe(200)
    const answer = await get(back.pathname + back.search, pending.cookie)
    expect(answer.status).toBe(503)
    expect(answer.text).toContain('does not respond')
    provider.isDown = false
    expect((await signIn()).status).toBe(303)
  })

  test('accepts an ID token only with its signature, nonce, audience, issuer, and time', async () => {
    await member('anna@example.com', 'reader')
    const now = Math.floor(Date.now() / 1000)
    const sign = (alg: string, key: Parameters<SignJWT['sign']>[0], claims: object) =>
      new SignJWT({ ...claims }).setProtectedHeader({ alg, kid: provider.key.kid as string }).sign(key)
    const changed = (claims: object) => async (token: string) =>
      sign('RS256', await importJWK(provider.key, 'RS256'), { ...decodeJwt(token), ...claims })
    const unsecured = (token: string) => {
      const [, payload] = token.split('.')
      return Promise.resolve(`${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`)
    }
    const attacks = [
      changed({ nonce: 'another' }),
      changed({ nonce: undefined }),
      changed({ aud: 'another' }),
      changed({ iss: 'https://login.example' }),
      changed({ exp: now - 300 }),
      unsecured,
      (token: string) => sign('HS256', Buffer.from('client-secret-of-passes'), decodeJwt(token)),
      async (token: string) => sign('RS256', await importJWK({ ...new TestProvider().key }, 'RS256'), decodeJwt(token)),
      async (token: string) => `${token.slice(0, -6)}AAAAAA`,
    ]
    for (const [n, attack] of attacks.entries()) {
      provider.changeIdToken = attack
      const answer = await signIn()
      expect(answer.status, `${n}: ${answer.text}`).toBe(400)
      expect(cookiesOf(answer).has(SESSION), String(n)).toBe(false)
    }
    // Clocks can differ by half a minute.
    for (const claims of [{ exp: now - 30 }, { iat: now + 30, exp: now + 600 }]) {
      provider.changeIdToken = changed(claims)
      expect((await signIn()).status).toBe(303)
    }
    // A database does not store NUL and lone surrogates unchanged.
    provider.account.groups = []
    for (const [claims, status] of [
      [{ sub: '1\0' }, 503],
      [{ sub: '1\ud800' }, 503],
      [{ sid: 's\0' }, 303],
    ] as const) {
      provider.changeIdToken = changed(claims)
      expect((await signIn()).status, JSON.stringify(claims)).toBe(status)
    }
  })

  test('another server rejects a revoked session within two seconds', async () => {
    await member('anna@example.com', 'reader')
    const { cookie } = await session()
    const second = api.createApp(api.services)
    const read = () => second.fetch(new Request('https://passes.example/v1/projects', { headers: { cookie } }))
    expect((await read()).status).toBe(200)
    await revokeSessions(api.services.store, workspace.id, 'anna@example.com', api.now)
    api.advance(2)
    expect((await read()).status).toBe(401)
  })

  test('revoking again ends no session, and a mistyped address is an error', async () => {
    await member('anna@example.com', 'reader')
    const revoke = (email: string) => revokeSessions(api.services.store, workspace.id, email, api.now)
    expect(await revoke('anna@example.com')).toMatchObject({ sessions: 0 })
    await expect(revoke('ana@example.com')).rejects.toThrow('No person has signed in as ana@example.com')
  })

  test('passes the requests of the provider for slower polls to the device', async () => {
    const none = await api.send('POST', '/desk/device', { body: {} })
    expect(none.status, none.text).toBe(404)
    const client = createProvider(device.config(), 'https://passes.example/desk/callback')
    onTestFinished(async () => {
      device.tokenError = undefined
      await client.close()
    })
    const { deviceCode, interval } = (await client.beginDevice())!
    expect(interval).toBe(5)
    expect(await client.pollDevice(deviceCode)).toEqual({ mustSlowDown: false })
    device.tokenError = 'slow_down'
    expect(await client.pollDevice(deviceCode)).toEqual({ mustSlowDown: true })
    for (const ended of ['expired_token', 'access_denied', 'unauthorized_client', 'invalid_client']) {
      device.tokenError = ended
      await expect(client.pollDevice(deviceCode)).rejects.toMatchObject({ failure: 'rejected', reason: ended })
    }
  })

  test('signs in with a key that the provider rotated in', async () => {
    await member('anna@example.com', 'reader')
    await session()
    provider.rotateKey('second')
    await session()
  })

  test('a logout of the provider ends the sessions that its signed token names', async () => {
    await member('anna@example.com', 'reader')
    const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    let jtis = 0
    const logout = async (
      claims: object,
      { key = provider.key, alg = 'RS256', aud = 'passes', age = 0, jti = undefined as string | null | undefined } = {},
    ) => {
      const now = Math.floor(Date.now() / 1000) - age
      jtis += 1
      const signed = new SignJWT({ ...claims, ...(jti !== null && { jti: jti ?? `jti-${jtis}` }) })
        .setProtectedHeader({ alg, kid: key.kid as string, typ: 'logout+jwt' })
        .setIssuer(provider.url)
        .setAudience(aud)
        .setIssuedAt(now)
        .setExpirationTime(now + 120)
      const token = await signed.sign(await importJWK(key, alg))
      return api.send('POST', '/desk/backchannel-logout', {
        body: new URLSearchParams({ logout_token: token }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    }
    const { cookie } = await session()
    const before = limited
    const stranger = { ...new TestProvider().key, kid: provider.key.kid }
    for (const rejected of [
      await logout({ sub: '1', events: event }, { key: stranger }),
      await logout({ sub: '1', events: event }, { aud: 'another' }),
      await logout({ sub: '1', events: event }, { age: 3_600 }),
      await logout({ sub: '1', events: event }, { jti: null }),
      await logout({ sub: '1\0', events: event }),
      await logout({ sub: '1' }),
      await logout({ sub: '1', events: event, nonce: 'x' }),
      await logout({ events: event }),
      await api.send('POST', '/desk/backchannel-logout', {
        body: 'logout_token=x',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    ]) {
      expect(rejected.status, rejected.text).toBe(400)
    }
    expect(limited - before).toBe(9)
    // A provider can end the sessions of many people at once.
    expect((await logout({ sub: 'nobody', events: event })).status).toBe(200)
    expect(limited - before).toBe(9)
    api.advance(2)
    expect((await get('/v1/projects', cookie)).status).toBe(200)
    const done = await logout({ sub: '1', events: event }, { jti: 'once' })
    expect(done.status, done.text).toBe(200)
    expect(done.headers.get('cache-control')).toBe('no-store')
    api.advance(2)
    expect((await get('/v1/projects', cookie)).status).toBe(401)
    // A repeated token does not end a later session, at any server.
    const next = await session()
    expect((await logout({ sub: '1', events: event }, { jti: 'once' })).status).toBe(200)
    api.advance(2)
    expect((await get('/v1/projects', next.cookie)).status).toBe(200)
    // Used tokens are deleted when they have expired.
    api.advance(600)
    await logout({ sub: '1', events: event })
    expect(await api.database.reader('logout_tokens')).toHaveLength(1)
  })
})

test('doctor checks the issuer, the redirect address, the role map, and the clock', async () => {
  const now = new Date()
  const databaseUrl = 'sqlite:none.db'
  const findByNameOrId = async (name: string) => (name === 'default' ? {} : undefined)
  const store = { workspaces: { findByNameOrId } } as never
  const failuresOf = async (publicUrl: string, { at = now, workspace = 'default' } = {}) => {
    const oidc = provider.config({ groupRoles: [{ group: 'Staff', role: 'reader', workspace }] })
    const config = testConfig({ databaseUrl, oidc, publicUrl })
    const checks = await checkSignIn(config, { store, clock: () => at })
    expect(checks.map(({ name }) => name)).toEqual(['Issuer', 'Redirect address', 'Roles of groups', 'Clock'])
    return checks.filter(({ status }) => status === 'FAILED').map(({ name }) => name)
  }
  const own = 'https://passes.example'
  expect(await failuresOf(own)).toEqual([])
  expect(await failuresOf('https://other.example')).toEqual(['Redirect address'])
  expect(await failuresOf(own, { at: new Date(now.getTime() + 300_000) })).toEqual(['Clock'])
  expect(await failuresOf(own, { workspace: 'nowhere' })).toEqual(['Roles of groups'])
  provider.isDown = true
  onTestFinished(() => {
    provider.isDown = false
  })
  expect(await failuresOf(own)).toEqual(['Issuer'])
  expect(await checkSignIn(testConfig({ databaseUrl }), { store, clock: () => now })).toEqual([])
})

describe.each(oneDialect)('without a provider, on %s', (dialect) => {
  const api = useApi(dialect)

  test('no route of sign-in exists, and no response depends on a cookie or mentions sign-in', async () => {
    const routes = api.app['~routes'].filter(({ route }) => route !== '/**')
    const paths = new Set(routes.map(({ route }) => route!))
    expect([...paths].filter((path) => path.startsWith('/desk')).sort()).toEqual(['/desk', '/desk/:name'])
    const { token } = await api.workspace()
    const credentials: Record<string, string>[] = [{}, { authorization: `Bearer ${token}` }]
    const cookie = `${SESSION}=${'A'.repeat(43)}; ${SIGN_IN}=x`
    const gets = routes.filter(({ method, route }) => method === 'GET' && route !== '/v1/events')
    const targets = [
      ...gets.map(({ route }) => route!.replaceAll(/:\w+/g, NOBODY)),
      ...['login', 'callback', 'session', `passes/${NOBODY}/history`].map((path) => `/desk/${path}`),
    ]
    expect(targets.length).toBeGreaterThan(60)
    for (const target of targets) {
      for (const headers of credentials) {
        const read = async (more: Record<string, string>) => {
          const request = new Request(`https://passes.example${target}`, { headers: { ...headers, ...more } })
          const response = await api.app.fetch(request)
          const given = [...response.headers].filter(([name]) => name !== 'x-correlation-id')
          return { status: response.status, headers: given, text: (await response.text()).replaceAll(UUID, 'ID') }
        }
        const plain = await read({})
        expect(await read({ cookie, 'x-csrf-token': 'x' }), target).toEqual(plain)
        expect(JSON.stringify(plain.headers), target).not.toMatch(/cookie|csrf|session/i)
        // The descriptions of the API list all error codes.
        if (!/^.(openapi.json$|docs)/.test(target)) {
          expect(plain.text, target).not.toMatch(/passes-sign-in|desk\/login|__Host-|csrf/i)
        }
      }
    }
    for (const path of ['logout', 'token', 'device', 'backchannel-logout']) {
      expect((await api.send('POST', `/desk/${path}`, { headers: { cookie } })).status, path).toBe(405)
    }
    const preflight = { origin: 'https://other.example', 'access-control-request-method': 'POST' }
    expect((await api.send('OPTIONS', '/v1/passes', { headers: preflight })).text).not.toMatch(/csrf/i)
  })
})
