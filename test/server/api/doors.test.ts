import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import type { Route } from '../../../src/core/route.ts'
import { sweep } from '../../../src/server/background/maintenance.ts'
import { authorize } from '../../../src/server/http/middleware/authenticate.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { createStore, PUBLIC } from '../../../src/storage/store.ts'
import type { TokenWithWorkspace } from '../../../src/storage/workspaces/tokens-repository.ts'
import { TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { dialects, oneDialect } from '../../support/databases.ts'
import { definition, issuedPass, makePass, makeProject, publishedTemplate } from '../fixtures.ts'

const { doors, scans, scanner } = contract
const DAY = 86_400

describe.each(dialects)('invitations and claims, on %s', (dialect) => {
  const api = useApi(dialect)
  let owner: TestWorkspace
  let projectId: string

  beforeAll(async () => {
    owner = await api.workspace()
    projectId = (await makeProject(owner, 'Spring fair')).id
  })

  const inSeconds = (seconds: number) => new Date(api.now.getTime() + seconds * 1000).toISOString()
  const invite = (options: { uses?: number; expiresAt?: string; projectId?: string } = {}) =>
    owner.ok(doors.invite, { body: { projectId, gate: 'North', expiresAt: inSeconds(3600), ...options } })
  /** Claims an invitation without a token, like a phone. */
  const claim = (code: string, name = 'Anna') => api.send('POST', doors.claim.path, { body: { code, name } })

  test('a claim creates a door with its own token; code and token are not stored in plain text', async () => {
    const { code, url, expiresAt } = await invite()
    expect(code).toMatch(/^[A-Z2-7]{26}$/)
    expect(url).toBe(`https://passes.example/door#${code}`)
    expect(expiresAt).toBe(inSeconds(3600))
    const { status, body } = await claim(code)
    expect(status).toBe(201)
    const { door, token } = body as { door: { id: string }; token: string }
    expect(door).toEqual({
      id: expect.any(String),
      name: 'Anna',
      projectId,
      projectName: 'Spring fair',
      gate: 'North',
      createdAt: api.now.toISOString(),
      expiresAt: inSeconds(30 * DAY),
      lastSeenAt: null,
      version: null,
      pendingScans: null,
      revokedAt: null,
    })
    const phone = new TestWorkspace(api, owner.id, token)
    expect(await phone.ok(contract.tokens.current, {})).toMatchObject({
      id: door.id,
      role: 'member',
      scopes: ['scans:read', 'scans:write'],
      projectIds: [projectId],
      expiresAt: inSeconds(30 * DAY),
    })
    const kept = [await api.database.writer('door_invitations'), await api.database.writer('tokens')]
    for (const secret of [code, token]) expect(JSON.stringify(kept)).not.toContain(secret)
  })

  test('exactly as many concurrent claims succeed as there are uses, and none after that', async () => {
    const { code } = await invite({ uses: 5 })
    const before = await api.database.writer('doors').count({ n: '*' }).first()
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => claim(code, `Phone ${n}`)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5)
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(35)
    expect((await claim(code)).status).toBe(404)
    const after = await api.database.writer('doors').count({ n: '*' }).first()
    expect(Number(after!.n) - Number(before!.n)).toBe(5)
  })

  test('rejects a used, ended, expired, or unknown code with 404 and the reason', async () => {
    const usedUp = await invite()
    await claim(usedUp.code)
    const ended = await invite()
    await owner.ok(doors.endInvitation, { params: { id: ended.id } })
    const expired = await invite({ expiresAt: inSeconds(1) })
    api.advance(1)
    // The requests do not wait for the writer either.
    const transaction = vi.spyOn(api.services.store.forRequests(PUBLIC), 'transaction')
    const answers = []
    for (const code of [usedUp.code, ended.code, expired.code, 'A'.repeat(26), 'x']) {
      const { status, body } = await claim(code)
      const { correlationId: _, ...answer } = body as ErrorBody
      answers.push({ status, ...answer })
    }
    expect(transaction).toHaveBeenCalledTimes(0)
    transaction.mockRestore()
    const refused = (reason: string, message: string) => ({
      status: 404,
      errorCode: 'NOT_FOUND',
      message: expect.stringContaining(message),
      details: { reason },
    })
    expect(answers).toEqual([
      refused('used_up', 'All uses of this invitation are taken.'),
      refused('ended', 'This invitation has ended.'),
      refused('ended', 'This invitation has ended.'),
      refused('unknown', 'The invitation code is unknown.'),
      refused('unknown', 'The invitation code is unknown.'),
    ])
    expect(await owner.refused(doors.endInvitation, { params: { id: ended.id } })).toMatchObject({ status: 404 })
  })

  test('an invitation ends within 30 days, and a project has limited invitations and doors', async () => {
    for (const [expiresAt, message] of [
      [inSeconds(0), 'Must be in the future'],
      [inSeconds(-1), 'Must be in the future'],
      [inSeconds(30 * DAY + 1), 'Must be within 30 days'],
    ] as const) {
      const refused = await owner.refused(doors.invite, { body: { projectId, gate: 'North', expiresAt } })
      expect(refused).toMatchObject({ status: 400, details: { issues: [{ path: ['expiresAt'], message }] } })
    }
    const { id: large } = await makeProject(owner, 'Large')
    for (let n = 0; n < 4; n += 1) await invite({ projectId: large, uses: 1000 })
    const { code } = await invite({ projectId: large, uses: 999 })
    const more = (uses: number) => ({
      body: { projectId: large, gate: 'North', uses, expiresAt: inSeconds(3600) },
    })
    const full = { status: 409, errorCode: 'CONFLICT', details: { limit: 'doors', allowed: 5000, used: 4999 } }
    expect(await owner.refused(doors.invite, more(2))).toMatchObject(full)
    // A use counts until the door that it created is revoked.
    const { body } = await claim(code)
    expect(await owner.refused(doors.invite, more(2))).toMatchObject(full)
    await owner.ok(doors.revoke, { params: { id: (body as { door: { id: string } }).door.id } })
    await owner.ok(doors.invite, more(2))

    const { id: busy } = await makeProject(owner, 'Busy')
    for (let n = 0; n < 100; n += 1) await invite({ projectId: busy })
    const another = { body: { projectId: busy, gate: 'North', expiresAt: inSeconds(3600) } }
    expect(await owner.refused(doors.invite, another)).toMatchObject({
      status: 409,
      details: { limit: 'doorInvitations', allowed: 100, used: 100 },
    })
    api.advance(3600)
    await owner.ok(doors.invite, { body: { ...another.body, expiresAt: inSeconds(3600) } })
  })

  test('no phone becomes a door of a suspended or expired workspace, and no use is taken', async () => {
    const { code } = await invite()
    const set = (fields: object) => api.database.writer('workspaces').where({ id: owner.id }).update(fields)
    await set({ suspended_at: 1 })
    expect(await claim(code)).toMatchObject({ status: 403, body: { errorCode: 'TENANT_SUSPENDED' } })
    await set({ suspended_at: null, expires_at: 1 })
    expect(await claim(code)).toMatchObject({ status: 403, body: { errorCode: 'TENANT_EXPIRED' } })
    await set({ expires_at: null })
    api.advance(2)
    expect(await claim(code)).toMatchObject({ status: 201 })
  })

  test('a door revoked at one of two servers is rejected at the other within a second', async () => {
    const { code } = await invite()
    const { door, token } = (await claim(code)).body as { door: { id: string }; token: string }
    const database = openDatabase(api.databaseUrl)
    const other = api.createApp({ ...api.services, store: createStore(database) })
    const url = new URL(doors.list.path, 'https://passes.example')
    const ask = async () =>
      (await other.fetch(new Request(url, { headers: { authorization: `Bearer ${token}` } }))).status
    expect(await ask()).toBe(200)
    await owner.ok(doors.revoke, { params: { id: door.id } })
    api.advance(1)
    expect(await ask()).toBe(401)
    await database.close()
  })

  test('deleting a project ends its doors and invitations, and keeps them in the list', async () => {
    const { id } = await makeProject(owner, 'Over soon')
    const { code } = await invite({ projectId: id, uses: 2 })
    const { door, token } = (await claim(code)).body as { door: { id: string }; token: string }
    await owner.ok(contract.projects.delete, { params: { id } })
    api.advance(2)
    expect(await claim(code)).toMatchObject({ status: 404 })
    const phone = new TestWorkspace(api, owner.id, token)
    expect(await phone.refused(contract.tokens.current, {})).toMatchObject({ errorCode: 'TOKEN_INVALID' })
    const { items } = await owner.ok(doors.list, { query: { projectId: [id] } })
    expect(items).toMatchObject([{ id: door.id, projectId: id, projectName: null, revokedAt: expect.any(String) }])
  })

  test('invitations are deleted a day after their end; doors stay', async () => {
    const { id } = await invite({ expiresAt: inSeconds(60) })
    const has = async () => (await api.database.writer('door_invitations').where({ id })).length
    api.advance(60 + DAY)
    await sweep(api.services)
    expect(await has()).toBe(1)
    api.advance(1)
    await sweep(api.services)
    expect(await has()).toBe(0)
    expect((await owner.ok(doors.list, {})).total).toBeGreaterThan(0)
  })
})

describe.each(oneDialect)('a door, on %s', (dialect) => {
  const api = useApi(dialect)
  let owner: TestWorkspace
  let project: { id: string }
  let phone: TestWorkspace
  let door: { id: string }
  let other: { id: string }

  async function claimed(projectId: string, gate = 'North') {
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const { code } = await owner.ok(doors.invite, { body: { projectId, gate, expiresAt } })
    const made = await owner.ok(doors.claim, { body: { code, name: `Phone at ${gate}` } })
    return { door: made.door, phone: new TestWorkspace(api, owner.id, made.token) }
  }

  beforeAll(async () => {
    owner = await api.workspace()
    project = await makeProject(owner, 'Spring fair')
    const first = await claimed(project.id)
    phone = first.phone
    door = first.door
    other = (await claimed(project.id, 'South')).door
  })

  /** The endpoints that a door's token can call. All others are rejected. */
  const ALLOWED = [
    'doors.list',
    'doors.update',
    'scanner.report',
    'scanner.snapshot',
    'scans.create',
    'scans.explain',
    'scans.get',
    'scans.list',
    'scans.reverse',
    'scans.stats',
    'tokens.current',
    'workspace.get',
    'zones.adjust',
    'zones.get',
    'zones.list',
  ]

  test('can use only the endpoints that scanning needs', async () => {
    const id = '018f2f5e-7c1a-7000-8000-0123456789ab'
    const allowed: string[] = []
    for (const { name, route } of allRoutes) {
      if (route.isPublic) continue
      const { status } = await phone.send(route.method, targetOf(route as Route, { params: { id } }))
      if (status !== 403) allowed.push(name)
    }
    expect(allowed.sort()).toEqual(ALLOWED)
  })

  test('doors cannot call other routes, even if their scopes would allow it', () => {
    const token = { scopes: ['scans:read'], role: 'member', door: { gate: 'North' } } as unknown as TokenWithWorkspace
    const route = { scope: 'scans:read' } as const
    expect(() => authorize(token, route)).toThrow(expect.objectContaining({ code: 'FORBIDDEN' }))
    expect(() => authorize(token, { ...route, forDoors: true })).not.toThrow()
    expect(() => authorize({ ...token, door: null }, route)).not.toThrow()
  })

  test('lists itself among the doors, and can change only its own gate', async () => {
    expect((await phone.ok(doors.list, {})).items.map(({ id }) => id)).toEqual([door.id])
    expect((await phone.ok(doors.list, { query: { projectId: [project.id] } })).total).toBe(1)
    for (const { id } of [door, other]) {
      const body = id === door.id ? { gate: 'VIP', name: 'Somebody' } : { gate: 'VIP' }
      expect(await phone.refused(doors.update, { params: { id }, body })).toMatchObject({ status: 403 })
      expect(await phone.refused(doors.revoke, { params: { id } })).toMatchObject({ status: 403 })
    }
    expect((await owner.ok(doors.list, { query: { projectId: [project.id] } })).total).toBe(2)
    const moved = await claimed(project.id, 'East')
    const params = { id: moved.door.id }
    expect(await moved.phone.ok(doors.update, { params, body: { gate: 'West' } })).toMatchObject({ gate: 'West' })
    api.advance(1)
    const pass = await issuedPass(owner, { projectId: project.id })
    expect((await moved.phone.ok(scans.create, { body: { passId: pass.id } })).scan.context).toEqual({ gate: 'West' })
    expect(await moved.phone.refused(doors.update, { params, body: {} })).toMatchObject({ status: 400 })
    await owner.ok(doors.revoke, { params })
  })

  test('the server sets the place and time of its scans, online and in reports', async () => {
    const pass = await issuedPass(owner, { projectId: project.id })
    const said = { deviceId: 'forged', context: { gate: 'VIP', lane: '2' } }
    const dated = { passId: pass.id, scannedAt: '2020-01-01T00:00:00Z', ...said }
    const { scan } = await phone.ok(scans.create, { body: dated })
    const recorded = { deviceId: door.id, context: { gate: 'North', lane: '2' }, scannedAt: api.now.toISOString() }
    expect(scan).toMatchObject(recorded)
    const ahead = new Date(api.now.getTime() + 3_600_000).toISOString()
    expect((await phone.ok(scans.create, { body: { passId: pass.id, scannedAt: ahead } })).scan).toMatchObject({
      deviceId: door.id,
      context: { gate: 'North' },
      scannedAt: api.now.toISOString(),
    })
    const report = {
      externalRef: 'r1',
      scannedAt: api.now.toISOString(),
      result: 'denied',
      reason: 'already_used',
    } as const
    const { results } = await phone.ok(scanner.report, { body: { scans: [{ ...report, passId: pass.id, ...said }] } })
    expect(results[0]!.scan).toMatchObject({ deviceId: door.id, metadata: { gate: 'North', lane: '2' } })
    const reversal = await phone.ok(scans.reverse, { params: { id: scan.id }, body: said })
    expect(reversal.scan).toMatchObject({ deviceId: door.id, context: { gate: 'North', lane: '2' } })
  })

  test('gets no variables in any scan response, unlike other tokens', async () => {
    const content = definition()
    const template = await publishedTemplate(owner, {
      projectId: project.id,
      definition: { ...content, door: { show: ['seat'] } },
    })
    const seat = 'A-17'
    const pass = await makePass(owner, template.id, { externalPassId: 'with-seat', variables: { seat } })
    await api.runJobs()
    const body = { passId: pass.id, externalRef: 'seat-1' }
    const first = await phone.ok(scans.create, { body })
    expect(first.pass).toMatchObject({ variables: {}, door: { fields: [{ value: seat }] } })
    expect((await phone.ok(scans.create, { body })).pass!.variables).toEqual({})
    expect((await phone.ok(scans.reverse, { params: { id: first.scan.id } })).pass!.variables).toEqual({})
    expect((await owner.ok(scans.create, { body: { passId: pass.id } })).pass!.variables).toEqual({ seat })
  })

  test('reverses only its own scans', async () => {
    const pass = await issuedPass(owner, { projectId: project.id })
    const { scan } = await owner.ok(scans.create, { body: { passId: pass.id } })
    expect(await phone.refused(scans.reverse, { params: { id: scan.id } })).toMatchObject({ status: 403 })
    expect((await owner.ok(scans.get, { params: { id: scan.id } })).result).toBe('accepted')
  })

  test('stores its status report within 15 seconds, and ignores malformed parts', async () => {
    const seen = async () => {
      await api.services.doorActivity.flush()
      const { items } = await owner.ok(doors.list, { query: { projectId: [project.id] } })
      return items.find(({ id }) => id === door.id)
    }
    const say = (headers: Record<string, string>) => phone.send('GET', contract.tokens.current.path, { headers })
    api.advance(5)
    await say({ 'x-door-version': '0.3.0+abc', 'x-door-pending': '12' })
    const first = { version: '0.3.0+abc', pendingScans: 12, lastSeenAt: api.now.toISOString() }
    expect(await seen()).toMatchObject(first)
    api.advance(5)
    for (const version of ['', 'x'.repeat(65), '<script>', 'a b']) {
      for (const pending of ['-1', '1e3', '12345678', 'NaN', '']) {
        expect((await say({ 'x-door-version': version, 'x-door-pending': pending })).status).toBe(200)
      }
    }
    expect(await seen()).toMatchObject({ ...first, lastSeenAt: api.now.toISOString() })
    // Reports of other clients are ignored.
    await owner.send('GET', contract.tokens.current.path, { headers: { 'x-door-version': '9' } })
    await say({ 'x-door-pending': '0' })
    expect(await seen()).toMatchObject({ version: '0.3.0+abc', pendingScans: 0 })
  })

  test('the first request of a door is stored at once', async () => {
    const { phone: some, door: made } = await claimed(project.id, 'East')
    const seenAt = async () => {
      const { items } = await owner.ok(doors.list, { query: { projectId: [project.id] } })
      return items.find(({ id }) => id === made.id)!.lastSeenAt
    }
    expect(await seenAt()).toBeNull()
    api.advance(1)
    await some.send('GET', contract.tokens.current.path)
    await vi.waitFor(async () => expect(await seenAt()).toBe(api.now.toISOString()))
  })

  test('any number of requests of any number of doors is written in one statement', async () => {
    const one = await claimed(project.id, 'East')
    const two = await claimed(project.id, 'West')
    const { store } = api.services
    // The first request of each door is stored at once.
    for (const { phone: some } of [one, two]) await some.send('GET', contract.tokens.current.path)
    await api.services.doorActivity.flush()
    const statement = vi.spyOn(store, 'statement')
    for (let n = 0; n < 20; n += 1) {
      for (const { phone: some } of [one, two]) {
        await some.send('GET', contract.tokens.current.path, { headers: { 'x-door-pending': String(n) } })
      }
    }
    expect(statement).toHaveBeenCalledTimes(0)
    await api.services.doorActivity.flush()
    expect(statement).toHaveBeenCalledTimes(1)
    statement.mockRestore()
    const { items } = await owner.ok(doors.list, { query: { limit: 2 } })
    expect(items.map(({ pendingScans }) => pendingScans)).toEqual([19, 19])
  })

  test('metrics count doors seen within five minutes, and their pending scans', async () => {
    const read = async () => (await api.services.store.overviews.read(api.now)).doors
    api.advance(301)
    const before = await read()
    expect(before.online).toBe(0)
    const made = await claimed(project.id, 'East')
    await made.phone.send('GET', contract.tokens.current.path, { headers: { 'x-door-pending': '7' } })
    await api.services.doorActivity.flush()
    expect(await read()).toEqual({ online: 1, pendingScans: before.pendingScans + 7 })
    api.advance(300)
    expect((await read()).online).toBe(1)
    await owner.ok(doors.revoke, { params: { id: made.door.id } })
    expect(await read()).toEqual({ online: 0, pendingScans: before.pendingScans })
  })

  test('scans at its new gate after a change, and is not a door after its revocation', async () => {
    const pass = await issuedPass(owner, { projectId: project.id })
    const made = await claimed(project.id, 'East')
    const ofDoor = { params: { id: made.door.id } }
    expect(await owner.refused(doors.update, { ...ofDoor, body: {} })).toMatchObject({
      errorCode: 'MISSING_REQUIRED_FIELD',
    })
    const changed = await owner.ok(doors.update, { ...ofDoor, body: { name: 'Bob', gate: 'West' } })
    expect(changed).toMatchObject({ name: 'Bob', gate: 'West' })
    api.advance(1)
    const { scan } = await made.phone.ok(scans.create, { body: { passId: pass.id } })
    expect(scan.context).toEqual({ gate: 'West' })
    for (const _ of ['once', 'twice']) await owner.ok(doors.revoke, ofDoor)
    const revokedAt = api.now.toISOString()
    api.advance(1)
    expect(await made.phone.refused(scans.create, { body: { passId: pass.id } })).toMatchObject({ status: 401 })
    await owner.ok(doors.revoke, ofDoor)
    const revoked = await owner.ok(doors.list, { query: { revoked: true } })
    expect(revoked.items[0]).toMatchObject({ id: made.door.id, revokedAt })
    const open = await owner.ok(doors.list, { query: { revoked: false } })
    expect(open.items.map(({ id }) => id)).not.toContain(made.door.id)
  })

  test('its token expires after 30 days, and operators do not see it in lists and rotations', async () => {
    const made = await claimed(project.id, 'East')
    const { tokens } = api.services.store
    const named = (await tokens.list(owner.id)).map(({ id }) => id)
    expect(named).not.toContain(made.door.id)
    const held = await api.services.store.transaction((tx) => tx.tokens.findForUpdate(owner.id, made.door.id))
    expect(held).toBeUndefined()
    api.advance(30 * DAY)
    expect(await made.phone.refused(doors.list, {})).toMatchObject({ errorCode: 'TOKEN_EXPIRED' })
  })
})

describe('with a limit of requests', () => {
  const burst = 5
  const api = useApi('sqlite', { rateLimit: { perSecond: 1, burst } })
  beforeEach(() => void vi.spyOn(performance, 'now').mockReturnValue(performance.now()))
  afterEach(() => void vi.restoreAllMocks())

  test('the doors of a project share the rate of one token fairly, and no other token takes from it', async () => {
    const owner = await api.workspace()
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const phones = new Map<string, TestWorkspace[]>()
    for (const name of ['Spring fair', 'Autumn fair']) {
      const project = await makeProject(owner, name)
      const { code } = await owner.ok(doors.invite, {
        body: { projectId: project.id, gate: 'North', uses: 2, expiresAt },
      })
      const claims = [
        await api.send('POST', doors.claim.path, { body: { code, name: 'one' } }),
        await api.send('POST', doors.claim.path, { body: { code, name: 'two' } }),
      ]
      const tokens = claims.map(({ body }) => (body as { token: string }).token)
      phones.set(
        name,
        tokens.map((token) => new TestWorkspace(api, owner.id, token)),
      )
    }
    const statuses = async (phone: TestWorkspace, count: number) => {
      const answers = await Promise.all(Array.from({ length: count }, () => phone.call(contract.tokens.current, {})))
      return answers.map(({ status }) => status)
    }
    const [one, two] = phones.get('Spring fair')!
    expect(await statuses(one!, 5)).toEqual([200, 200, 200, 429, 429])
    expect(await statuses(two!, 2)).toEqual([200, 429])
    expect(await statuses(one!, 1)).toEqual([429])
    expect(await statuses(phones.get('Autumn fair')![0]!, 3)).toEqual([200, 200, 200])
  })
})
