import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { ErrorBody } from '../../../src/core/contract/schemas/common.ts'
import type { Route } from '../../../src/core/route.ts'
import { TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { oneDialect } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import { signedIn, silentProvider } from '../../support/sessions.ts'
import {
  definition,
  issuedPass,
  joinPageOfTicket,
  makeProject,
  makeTemplate,
  passBody,
  publishedTemplate,
} from '../fixtures.ts'
import { png } from './templates/pictures.ts'

const routesWithIds = allRoutes.filter(({ route }) => route.params)

/** A valid query for each route that requires one. */
const queries: Record<string, object> = { 'projects.figures': { from: '2026-01-01T00:00:00Z', by: 'month' } }

/** A valid body for each route that requires one. */
const bodies: Record<string, object> = {
  'projects.update': { name: 'Mine now' },
  'templates.update': { name: 'Mine now', projectId: null },
  'templates.createVersion': { definition: definition() },
  'passes.update': { label: 'Mine now' },
  'templateVersions.update': { definition: definition() },
  'passes.transfer': { label: 'Grace' },
  'notifications.create': { body: 'Doors open at 7' },
  'broadcasts.create': { body: 'Doors open at 7' },
  'upgrades.create': { to: 'latest' },
  'joinPages.set': joinPageOfTicket,
  'doors.update': { gate: 'Mine now' },
  'zones.update': { name: 'Mine now' },
  'zones.reset': { reason: 'Mine now' },
  'zones.adjust': { delta: 1, reason: 'Mine now', externalRef: 'mine' },
  'balances.createEntry': { delta: 1, externalRef: 'mine' },
  'webhooks.update': { url: 'https://mine.example' },
}

/** The kinds of rows whose IDs are the first parameter of a path. */
const kindsByPath: Record<string, Name[]> = {
  projects: ['project'],
  templates: ['template'],
  'template-versions': ['published', 'draft'],
  passes: ['pass'],
  webhooks: ['webhook'],
  'webhooks/deliveries': ['delivery'],
  scans: ['scan'],
  doors: ['door'],
  'doors/invitations': ['invitation'],
  zones: ['zone'],
}
const kindsOf = ({ path }: Route) => kindsByPath[path.slice('/v1/'.length).split('/{')[0]!]!

type Name =
  | 'project'
  | 'template'
  | 'published'
  | 'draft'
  | 'pass'
  | 'image'
  | 'webhook'
  | 'delivery'
  | 'scan'
  | 'notification'
  | 'broadcast'
  | 'upgrade'
  | 'door'
  | 'invitation'
  | 'zone'

const tables = [
  'projects',
  'templates',
  'template_versions',
  'images',
  'passes',
  'jobs',
  'events',
  'tokens',
  'webhooks',
  'webhook_deliveries',
  'scans',
  'notifications',
  'broadcasts',
  'template_upgrades',
  'doors',
  'door_invitations',
  'zones',
  'zone_adjustments',
  'balance_entries',
]

describe.each(oneDialect)('on %s', (dialect) => {
  const api = useApi(dialect, { oidc: () => silentProvider })
  let owner: TestWorkspace
  let stranger: TestWorkspace
  /** A token of the owner's workspace that is bound to another project of that workspace. */
  let neighbour: TestWorkspace
  /** A person who owns the project of `neighbour`, and signed in. */
  let person: TestWorkspace
  /** A door of the project of `neighbour`. */
  let door: TestWorkspace
  /** One id of each kind of row. */
  let ids: Record<Name, string>
  let allKinds: Name[]
  /** The rows of the owner, which no test may change. */
  let rows: Awaited<ReturnType<typeof rowsOf>>

  beforeAll(async () => {
    owner = await api.workspace()
    stranger = await api.workspace()
    const { id: nextDoor } = await makeProject(owner, 'Next door')
    neighbour = new TestWorkspace(api, owner.id, await api.token(owner.id, { projectIds: [nextDoor] }))
    person = await signedIn(api, owner.id, [{ role: 'owner', projectIds: [nextDoor] }])
    // The first request of a token changes the time of its last use.
    await neighbour.ok(contract.tokens.current, {})
    const project = await makeProject(owner)
    const template = await publishedTemplate(owner, { projectId: project.id })
    const draft = await owner.ok(contract.templates.createVersion, { params: { id: template.id } })
    const upgraded = { params: { id: template.id }, body: { to: 'latest' as const } }
    const upgrade = await owner.ok(contract.upgrades.create, upgraded)
    await owner.ok(contract.joinPages.set, { params: { id: template.id }, body: joinPageOfTicket })
    const pass = await issuedPass(owner, { projectId: project.id })
    const image = await owner.ok(contract.images.create, { body: await png(), contentType: 'image/png' })
    const body = { body: 'Doors open at 7', sendAt: '2027-01-01T00:00:00Z' }
    const notification = await owner.ok(contract.notifications.create, { params: { id: pass.id }, body })
    const broadcast = await owner.ok(contract.broadcasts.create, { params: { id: project.id }, body })
    const endpoint = { url: 'https://hooks.example/passes', events: ['pass.issued' as const] }
    const webhook = await owner.ok(contract.webhooks.create, { body: endpoint })
    const delivery = await owner.ok(contract.webhooks.test, { params: { id: webhook.id } })
    const { scan } = await owner.ok(contract.scans.create, { body: { passId: pass.id } })
    const expiresAt = new Date(api.now.getTime() + 3_600_000).toISOString()
    const invited = { projectId: project.id, gate: 'North', uses: 2, expiresAt }
    const invitation = await owner.ok(contract.doors.invite, { body: invited })
    const claim = await owner.ok(contract.doors.claim, { body: { code: invitation.code, name: 'Anna' } })
    const { code } = await owner.ok(contract.doors.invite, { body: { ...invited, projectId: nextDoor } })
    const { token } = await owner.ok(contract.doors.claim, { body: { code, name: 'Bert' } })
    door = new TestWorkspace(api, owner.id, token)
    const zone = await owner.ok(contract.zones.create, { body: { projectId: project.id, name: 'Hall' } })
    ids = {
      zone: zone.id,
      door: claim.door.id,
      invitation: invitation.id,
      notification: notification.id,
      broadcast: (broadcast as { id: string }).id,
      upgrade: upgrade.id,
      project: project.id,
      template: template.id,
      published: template.versionId,
      draft: draft.id,
      pass: pass.id,
      image: image.id,
      webhook: webhook.id,
      delivery: delivery.id,
      scan: scan.id,
    }
    allKinds = Object.keys(ids) as Name[]
    rows = await rowsOf(owner)
  })

  const rowsOf = async (workspace: TestWorkspace) =>
    Promise.all(tables.map((table) => api.database.writer(table).where({ workspace_id: workspace.id }).orderBy('id')))

  test.each(routesWithIds)('$name returns 404 for every foreign ID and changes nothing', async ({ name, route }) => {
    const intruders = {
      'a stranger': stranger,
      'a token of another project': neighbour,
      'a person of another project': person,
      'a door of another project': door,
    }
    const body = bodies[name]
    const names = Object.keys(route.params!.shape)
    for (const [who, intruder] of Object.entries(intruders)) {
      const isBeyond =
        ((intruder === neighbour || intruder === person) && route.scope?.startsWith('webhooks:')) ||
        (intruder === door && (!route.forDoors || name === 'doors.update'))
      const own = kindsOf(route)
      // The stranger tests IDs of the wrong kind. For the others, one such ID is enough.
      const kinds: Name[] = isLong || intruder === stranger || names.length > 1 ? allKinds : [...own, 'image']
      for (const kind of kinds) {
        const id = ids[kind]
        // Resources below another one are requested below the owner's resource.
        const parent = ids[own[0]!]
        const params = Object.fromEntries(names.map((name, n) => [name, n === names.length - 1 ? id : parent]))
        const target = targetOf(route, { params, query: queries[name] ?? {} })
        const answer = await intruder.send(route.method, target, body ? { body } : {})
        expect(answer.status, `${who}, ${kind}: ${answer.text}`).toBe(isBeyond ? 403 : 404)
        expect((answer.body as ErrorBody).errorCode, `${who}, ${kind}`).toMatch(isBeyond ? /^FORBIDDEN$/ : /NOT_FOUND$/)
      }
    }
    const before = rows
    rows = await rowsOf(owner)
    expect(rows).toEqual(before)
  })

  test('no list shows a row of another workspace', async () => {
    for (const { items, total } of [
      await stranger.ok(contract.projects.list, {}),
      await stranger.ok(contract.templates.list, {}),
      await stranger.ok(contract.templates.list, { query: { projectId: ids.project } }),
      await stranger.ok(contract.webhooks.list, {}),
      await stranger.ok(contract.deliveries.list, {}),
      await stranger.ok(contract.deliveries.list, { query: { webhookId: ids.webhook } }),
      await stranger.ok(contract.scans.list, { query: { passId: ids.pass } }),
    ]) {
      expect([items, total]).toEqual([[], 0])
    }
  })

  test('a foreign ID in a body or a query is as unknown as one in the path', async () => {
    const template = { name: 'T', passType: 'generic' as const, projectId: ids.project }
    expect(await stranger.refused(contract.templates.create, { body: template })).toMatchObject({ status: 404 })
    const own = await makeTemplate(stranger)
    const move = { params: { id: own.id }, body: { projectId: ids.project } }
    expect(await stranger.refused(contract.templates.update, move)).toMatchObject({ status: 404 })
    const body = passBody(ids.template)
    expect(await stranger.refused(contract.passes.create, { body })).toMatchObject({ errorCode: 'TEMPLATE_NOT_FOUND' })
    const batch = await stranger.ok(contract.passes.createBatch, { body: { passes: [body] } })
    expect(batch.results[0]).toMatchObject({ success: false, error: { code: 'TEMPLATE_NOT_FOUND' } })
    const query = { templateId: ids.template }
    expect(await stranger.refused(contract.templateVersions.list, { query })).toMatchObject({ status: 404 })
  })

  test('an image of another workspace cannot be published', async () => {
    const { id } = await makeTemplate(stranger)
    const content = definition()
    const design = { ...content.design, images: { logo: ids.image } }
    const body = { definition: { ...content, design } }
    const draft = await stranger.ok(contract.templates.createVersion, { params: { id }, body })
    const rejection = await stranger.refused(contract.templateVersions.publish, { params: { id: draft.id } })
    expect(rejection.message).toContain('design.images.logo')
  })

  test('two workspaces use the same externalPassId, each for its own pass', async () => {
    const [one, other] = [
      await issuedPass(owner, { externalPassId: 'same' }),
      await issuedPass(stranger, { externalPassId: 'same' }),
    ]
    expect(one.id).not.toBe(other.id)
    expect(await stranger.refused(contract.passes.get, { params: { id: one.id } })).toMatchObject({ status: 404 })
  })
})
