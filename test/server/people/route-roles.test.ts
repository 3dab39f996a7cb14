import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import type { Route } from '../../../src/core/route.ts'
import {
  type Grant,
  type PersonRole,
  permissionsFor,
  personRoles,
} from '../../../src/core/rules/people/person-roles.ts'
import english from '../../../src/locales/en/desk.json' with { type: 'json' }
import { erasePass } from '../../../src/server/operator/erase-pass.ts'
import { passHistory } from '../../../src/server/people/pass-history.ts'
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { dialects, testOn } from '../../support/databases.ts'
import { signedIn, silentProvider } from '../../support/sessions.ts'
import { definition, makePass, makeProject, passBody, publishedTemplate } from '../fixtures.ts'

const routes = allRoutes.filter(({ route }) => !route.isPublic)

/** The scopes of the roles and the two further rights, as the documentation lists them. */
const documented: Record<PersonRole, RegExp> = {
  owner: /./,
  editor: /^(templates|passes|pass-notifications):|^scans:read$/,
  support: /^(passes|pass-notifications|scans):|^templates:read$/,
  'door-lead': /^passes:read$|^scans:/,
  reader: /^(passes|pass-notifications|scans|templates):read$/,
}
const doorRoutes = /^(doors\.(invite|endInvitation|update|revoke)|zones\.(create|update|delete|reset))$/

function isPermitted(role: PersonRole, name: string, route: Route, isLimited: boolean): boolean {
  if (route.scope === null) return true
  if (!documented[role].test(route.scope) || (isLimited && route.scope.startsWith('webhooks:'))) return false
  return route.role === undefined || role === 'owner' || (role === 'door-lead' && doorRoutes.test(name))
}

const NOBODY = '01985f0c-7a10-7000-8000-00000000dead'

describe.each(dialects)('roles of people, on %s', (dialect) => {
  const api = useApi(dialect, { oidc: () => silentProvider })
  let owner: TestWorkspace
  let own: Awaited<ReturnType<typeof makeSide>>
  let other: Awaited<ReturnType<typeof makeSide>>

  async function makeSide(name: string) {
    const project = await makeProject(owner, name)
    const template = await publishedTemplate(owner, { projectId: project.id, name })
    const pass = await makePass(owner, template.id, { externalPassId: name })
    const zone = await owner.ok(contract.zones.create, { body: { projectId: project.id, name } })
    return {
      projects: project.id,
      templates: template.id,
      passes: pass.id,
      zones: zone.id,
      templateVersions: template.versionId,
    }
  }

  beforeAll(async () => {
    owner = await api.workspace()
    own = await makeSide('North')
    other = await makeSide('South')
  })

  const grantOf = (role: PersonRole, isLimited: boolean): Grant => ({
    role,
    projectIds: isLimited ? [own.projects] : null,
  })

  // The permissions of a role do not depend on the database.
  testOn(dialect).each(personRoles.flatMap((role) => [false, true].map((isLimited) => ({ role, isLimited }))))(
    '$role (limited to a project: $isLimited) can call the documented routes, and no other',
    async ({ role, isLimited }) => {
      const person = await signedIn(api, owner.id, [grantOf(role, isLimited)])
      const wrong: string[] = []
      for (const { name, route } of routes) {
        const names = Object.keys(route.params?.shape ?? {})
        const params = Object.fromEntries(names.map((one) => [one, NOBODY]))
        const answer = await person.send(route.method, targetOf(route, { params }))
        const { errorCode, details } = (answer.status >= 400 ? answer.body : {}) as Partial<ErrorBody>
        // A handler can require the whole workspace after the check of the role.
        const isRejected = errorCode === 'FORBIDDEN' && details?.projectIds === undefined
        const isForbidden = isRejected || (answer.status === 403 && errorCode === undefined)
        if (isForbidden === isPermitted(role, name, route, isLimited)) wrong.push(`${name}: ${answer.status}`)
        if (answer.status === 401) wrong.push(`${name}: 401`)
      }
      expect(wrong).toEqual([])
    },
  )

  test.each(personRoles)('%s reads and lists only the projects of the role', async (role) => {
    const person = await signedIn(api, owner.id, [grantOf(role, true)])
    for (const { name, route } of routes.filter(({ route }) => route.method === 'GET')) {
      const resource = name.split('.')[0] as keyof typeof own
      if (!route.params && route.eventStream !== true) {
        const answer = await person.send('GET', targetOf(route, {}))
        for (const id of Object.values(other)) expect(answer.text, name).not.toContain(id)
      }
      if (Object.keys(route.params?.shape ?? {}).join() !== 'id' || !(resource in own)) continue
      const query = name === 'projects.figures' ? { from: '2026-01-01T00:00:00Z', by: 'month' } : {}
      const read = (side: typeof own) => person.send('GET', targetOf(route, { params: { id: side[resource] }, query }))
      const expected = isPermitted(role, name, route, true) ? [200, 404] : [403, 403]
      // A pass that is not issued has no images.
      const statuses = [(await read(own)).status, (await read(other)).status]
      if (statuses[0] === 409) statuses[0] = 200
      expect(statuses, name).toEqual(expected)
    }
  })

  test('a role in one project does not apply to another project of the same person', async () => {
    const editor = { role: 'editor' as const, projectIds: [own.projects] }
    const person = await signedIn(api, owner.id, [editor, { role: 'reader', projectIds: [other.projects] }])
    const update = (id: string) => person.send('PATCH', `/v1/templates/${id}`, { body: { name: 'Renamed' } })
    expect((await update(own.templates)).status).toBe(200)
    expect((await update(other.templates)).status).toBe(404)
    expect((await person.ok(contract.templates.list, {})).total).toBe(2)
    const everywhere = await signedIn(api, owner.id, [editor, { role: 'reader', projectIds: null }])
    expect((await everywhere.send('PATCH', `/v1/templates/${other.templates}`, { body: { name: 'X' } })).status).toBe(
      404,
    )
    expect((await everywhere.ok(contract.tokens.current, {})).projectIds).toBeUndefined()
  })

  test('the history of a pass names people and tokens, only to members who can read the pass', async () => {
    const support = await signedIn(api, owner.id, [grantOf('support', true)])
    await support.ok(contract.passes.update, { params: { id: own.passes }, body: { label: 'Renamed' } })
    const operator = { tokenId: null, name: 'root@machine: passes pass erase' }
    const entry = { action: 'pass.erase' as const, actor: operator, targetId: own.passes, correlationId: null }
    await api.services.store.transaction((tx) => tx.auditLog.insert(owner.id, entry, api.now))
    const path = (id: string) => `/desk/passes/${id}/history`
    for (const role of personRoles) {
      const person = await signedIn(api, owner.id, [grantOf(role, true)])
      const { body, headers } = await person.send('GET', path(own.passes))
      const { items } = body as { items: { actor: string; action: string }[] }
      expect(items.map(({ actor, action }) => [actor.replace(/-\d+/, ''), action])).toEqual([
        ['passes pass erase', 'pass.erase'],
        ['person@example.com', 'pass.update'],
        ['test', 'pass.create'],
      ])
      expect(headers.get('cache-control')).toBe('no-store')
      expect((await person.send('GET', path(other.passes))).status).toBe(404)
    }
    const stranger = await signedIn(api, (await api.workspace()).id, [grantOf('owner', false)])
    expect((await stranger.send('GET', path(own.passes))).status).toBe(404)
    expect((await owner.send('GET', path(own.passes))).status).toBe(403)
    expect((await api.send('GET', path(own.passes))).status).toBe(401)
  })

  test('the history of a pass contains each change of it, for which the desk has words', async () => {
    const person = await signedIn(api, owner.id, [grantOf('owner', false)])
    const content = definition({
      redemption: { maxUses: 1 },
      balances: { points: { label: 'Points', kind: 'integer' } },
    })
    const { id: templateId, projectId } = await publishedTemplate(owner, {
      projectId: own.projects,
      definition: content,
    })
    const imported = { externalPassId: 'imported', label: 'Anna', scanPayload: 'imported-0123456789abcdef' }
    const others = [{ ...imported, externalPassId: 'other', scanPayload: 'other-0123456789abcdef' }]
    await owner.ok(contract.passes.import, { body: { templateId, passes: [imported, ...others] } })
    api.advance(1)
    const passes = ['G-1', 'G-2'].map((externalPassId) => passBody(templateId, { externalPassId }))
    await owner.ok(contract.passes.createBatch, { body: { passes } })
    await api.runJobs()
    const idOf = async (externalPassId: string) =>
      (await owner.ok(contract.passes.list, { query: { externalPassId } })).items[0]!.id
    const [first, second] = [await idOf('G-1'), await idOf('G-2')]
    const params = { id: first }
    const of = (id: string, query = {}) =>
      person.ok(passHistory.route, { params: { id }, query }) as Promise<{ items: { action: string; actor: string }[] }>

    const entry = { delta: 1, externalRef: 'one' }
    const balance = { ...params, name: 'points' }
    const added = await person.ok(contract.balances.createEntry, { params: balance, body: entry })
    await person.ok(contract.balances.reverseEntry, { params: { ...balance, entryId: added.entry.id }, body: {} })
    const { scan } = await person.ok(contract.scans.create, { body: { passId: first } })
    await person.ok(contract.scans.reverse, { params: { id: scan.id }, body: {} })
    const sendAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const message = await person.ok(contract.notifications.create, { params, body: { body: 'Hello', sendAt } })
    await person.ok(contract.notifications.cancel, { params: { ...params, notificationId: message.id } })
    await person.ok(contract.broadcasts.create, { params: { id: projectId! }, body: { body: 'Hello' } })
    await api.runJobs()
    await person.ok(contract.passes.update, { params, body: { label: 'Renamed' } })
    await person.ok(contract.passes.revokeLinks, { params })
    await person.ok(contract.passes.rotateCode, { params })
    await person.ok(contract.passes.transfer, { params, body: { label: 'Ben' } })
    await person.ok(contract.passes.void, { params, body: {} })
    const { store } = api.services
    await erasePass({ store, database: api.database }, owner.id, first, api.now)

    const { items } = await of(first)
    expect(items.map(({ action }) => action)).toEqual([
      'pass.erase',
      'pass.void',
      'pass.transfer',
      'pass.rotate-code',
      'pass.revoke-links',
      'pass.update',
      'broadcast.create',
      'notification.cancel',
      'notification.create',
      'scan.reverse',
      'balance.reverse',
      'balance.add',
      'pass.create',
    ])
    expect((await of(first, { limit: 5 })).items).toEqual(items.slice(0, 5))
    expect((await of(first, { limit: 5, offset: 10 })).items).toEqual(items.slice(10))
    // The batch belongs to the history of each pass, and the rest to that of the first.
    expect((await of(second)).items.map(({ action }) => action)).toEqual(['broadcast.create', 'pass.create'])
    const ofImported = (await of(await idOf('imported'))).items.map(({ action }) => action)
    expect(ofImported.at(-1)).toBe('pass.import')
    const actions = new Set([...items.map(({ action }) => action), ...ofImported, 'job.retry'])
    expect([...actions].sort()).toEqual(Object.keys(english.changes).sort())
  })
})

test('two roles never add up to a permission that neither has', () => {
  const limitedOwner = { role: 'owner' as const, projectIds: ['1'] }
  const reader = { role: 'reader' as const, projectIds: null }
  const webhooks = { scope: 'webhooks:write' as const, role: 'owner' as const }
  expect(permissionsFor([limitedOwner, reader], webhooks).scopes).not.toContain('webhooks:write')
  const doorLead = { role: 'door-lead' as const, projectIds: null }
  const support = { role: 'support' as const, projectIds: null }
  const importing = { scope: 'passes:write' as const, role: 'owner' as const }
  expect(permissionsFor([doorLead, support], importing).role).toBe('member')
  const inviting = { scope: 'scans:write' as const, role: 'owner' as const, forDoorLeads: true as const }
  const there = { role: 'support' as const, projectIds: ['2'] }
  expect(permissionsFor([{ ...doorLead, projectIds: ['1'] }, there], inviting)).toMatchObject({
    role: 'owner',
    projectIds: ['1'],
  })
})
