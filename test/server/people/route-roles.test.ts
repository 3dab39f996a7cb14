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
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'
import { signedIn, silentProvider } from '../../support/sessions.ts'
import { makePass, makeProject, publishedTemplate } from '../fixtures.ts'

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

describe.each(oneDialect)('roles of people, on %s', (dialect) => {
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

  test.each(personRoles.flatMap((role) => [false, true].map((isLimited) => ({ role, isLimited }))))(
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
