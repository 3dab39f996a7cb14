import { beforeAll, describe, expect, test } from 'vitest'
import { type AuditAction, auditActions } from '../../../src/core/audit.ts'
import { contract } from '../../../src/core/contract/contract.ts'
import { listAudit, resolveSearch } from '../../../src/server/operator/list-audit.ts'
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes } from '../../support/conformance.ts'
import { dialects } from '../../support/databases.ts'
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

/** Routes that change data without an audit entry, because the ledger records their token. */
const ownLedger = ['scans.create', 'scanner.report']

/** A text that must not appear in the log. */
const SECRET = 'Xyzzy planted'

interface Change {
  action: AuditAction
  /** Creates the objects that the request needs, and returns what to send. */
  prepare: (workspace: TestWorkspace) => Promise<{ params?: object; body?: unknown; contentType?: string }>
}

const later = { body: SECRET, sendAt: '2027-01-01T00:00:00Z' }
const draftOf = async (workspace: TestWorkspace) => {
  const { id } = await makeTemplate(workspace)
  return workspace.ok(contract.templates.createVersion, { params: { id }, body: { definition: definition() } })
}
const idOf = (params: { id: string }) => ({ params: { id: params.id } })
const webhook = { url: 'https://hooks.example/passes', events: ['pass.issued' as const], description: SECRET }
const makeWebhook = (workspace: TestWorkspace) => workspace.ok(contract.webhooks.create, { body: webhook })
const disabled = async (workspace: TestWorkspace) => {
  const made = idOf(await makeWebhook(workspace))
  await workspace.ok(contract.webhooks.disable, made)
  return made
}

const invitationTo = async (workspace: TestWorkspace) => {
  const { id: projectId } = await makeProject(workspace)
  return { projectId, gate: SECRET, expiresAt: new Date(workspace.api.now.getTime() + 60_000).toISOString() }
}
const invited = async (workspace: TestWorkspace) =>
  workspace.ok(contract.doors.invite, { body: await invitationTo(workspace) })
const claimed = async (workspace: TestWorkspace) => {
  const { code } = await invited(workspace)
  return (await workspace.ok(contract.doors.claim, { body: { code, name: 'Anna' } })).door
}

const passWithPoints = async (workspace: TestWorkspace) => {
  const content = definition({ balances: { points: { label: 'Points', kind: 'integer' } } })
  return (await issuedPass(workspace, { definition: content })).id
}
const makeZone = async (workspace: TestWorkspace) => {
  const { id: projectId } = await makeProject(workspace)
  return workspace.ok(contract.zones.create, { body: { projectId, name: SECRET } })
}

/** A request that works for every route that changes something. */
const changes: Record<string, Change> = {
  'projects.create': { action: 'project.create', prepare: async () => ({ body: { name: SECRET } }) },
  'projects.update': {
    action: 'project.update',
    prepare: async (workspace) => ({ ...idOf(await makeProject(workspace)), body: { name: SECRET } }),
  },
  'projects.delete': { action: 'project.delete', prepare: async (workspace) => idOf(await makeProject(workspace)) },
  'templates.create': {
    action: 'template.create',
    prepare: async () => ({ body: { name: SECRET, passType: 'generic' } }),
  },
  'templates.update': {
    action: 'template.update',
    prepare: async (workspace) => ({ ...idOf(await makeTemplate(workspace)), body: { name: SECRET } }),
  },
  'templates.delete': { action: 'template.delete', prepare: async (workspace) => idOf(await makeTemplate(workspace)) },
  'templates.createVersion': {
    action: 'template-version.create',
    prepare: async (workspace) => ({ ...idOf(await makeTemplate(workspace)), body: { definition: definition() } }),
  },
  'templateVersions.update': {
    action: 'template-version.update',
    prepare: async (workspace) => ({ ...idOf(await draftOf(workspace)), body: { definition: definition() } }),
  },
  'templateVersions.delete': {
    action: 'template-version.delete',
    prepare: async (workspace) => idOf(await draftOf(workspace)),
  },
  'templateVersions.publish': {
    action: 'template-version.publish',
    prepare: async (workspace) => idOf(await draftOf(workspace)),
  },
  'upgrades.create': {
    action: 'upgrade.create',
    prepare: async (workspace) => ({ ...idOf(await publishedTemplate(workspace)), body: { to: 'latest' } }),
  },
  'upgrades.cancel': {
    action: 'upgrade.cancel',
    prepare: async (workspace) => {
      const { id } = await publishedTemplate(workspace)
      const upgrade = await workspace.ok(contract.upgrades.create, { params: { id }, body: { to: 'latest' } })
      return { params: { id, upgradeId: upgrade.id } }
    },
  },
  'joinPages.set': {
    action: 'join-page.set',
    prepare: async (workspace) => ({
      ...idOf(await publishedTemplate(workspace)),
      body: { ...joinPageOfTicket, slug: 'audited', title: SECRET },
    }),
  },
  'joinPages.delete': {
    action: 'join-page.delete',
    prepare: async (workspace) => {
      const { id } = await publishedTemplate(workspace)
      const body = { ...joinPageOfTicket, slug: 'deleted' }
      await workspace.ok(contract.joinPages.set, { params: { id }, body })
      return { params: { id } }
    },
  },
  'images.create': { action: 'image.create', prepare: async () => ({ body: await png(), contentType: 'image/png' }) },
  'passes.create': {
    action: 'pass.create',
    prepare: async (workspace) => ({ body: passBody((await publishedTemplate(workspace)).id, { label: SECRET }) }),
  },
  'passes.createBatch': {
    action: 'pass.create',
    prepare: async (workspace) => {
      const { id } = await publishedTemplate(workspace)
      return { body: { passes: [passBody(id, { label: SECRET }), passBody(id), passBody(id)] } }
    },
  },
  'passes.import': {
    action: 'pass.import',
    prepare: async (workspace) => {
      const { id: templateId } = await publishedTemplate(workspace)
      const item = (n: number) => ({ externalPassId: `${templateId}-${n}`, label: SECRET, scanPayload: SECRET })
      return { body: { templateId, passes: [item(1), item(2)] } }
    },
  },
  'passes.update': {
    action: 'pass.update',
    prepare: async (workspace) => ({ ...idOf(await issuedPass(workspace)), body: { label: SECRET } }),
  },
  'passes.rotateCode': {
    action: 'pass.rotate-code',
    prepare: async (workspace) => idOf(await issuedPass(workspace)),
  },
  'passes.transfer': {
    action: 'pass.transfer',
    prepare: async (workspace) => ({ ...idOf(await issuedPass(workspace)), body: { label: SECRET } }),
  },
  'passes.void': {
    action: 'pass.void',
    prepare: async (workspace) => ({ ...idOf(await issuedPass(workspace)), body: { reason: SECRET } }),
  },
  'passes.revokeLinks': {
    action: 'pass.revoke-links',
    prepare: async (workspace) => idOf(await issuedPass(workspace)),
  },
  'wallets.nudge': {
    action: 'pass.nudge',
    prepare: async (workspace) => {
      const { id: passId } = await issuedPass(workspace)
      const { api, id } = workspace
      await api.services.store.transaction(async (tx) => {
        await tx.registrations.insert(id, { passId, deviceId: 'silent', pushToken: 'push' }, api.now)
        await tx.passes.setVoid(id, [passId], api.now)
        await tx.registrations.setPushed(id, [{ passId, deviceId: 'silent', pushedVersion: 0, version: 1 }], api.now)
        await tx.heldPasses.settle(id, [passId])
      })
      api.advance(3600)
      return { body: {} }
    },
  },
  'notifications.create': {
    action: 'notification.create',
    prepare: async (workspace) => ({ ...idOf(await issuedPass(workspace)), body: { body: SECRET } }),
  },
  'notifications.cancel': {
    action: 'notification.cancel',
    prepare: async (workspace) => {
      const { id } = await issuedPass(workspace)
      const notification = await workspace.ok(contract.notifications.create, { params: { id }, body: later })
      return { params: { id, notificationId: notification.id } }
    },
  },
  'broadcasts.create': {
    action: 'broadcast.create',
    prepare: async (workspace) => ({ ...idOf(await makeProject(workspace)), body: { body: SECRET } }),
  },
  'broadcasts.cancel': {
    action: 'broadcast.cancel',
    prepare: async (workspace) => {
      const { id } = await makeProject(workspace)
      const broadcast = await workspace.ok(contract.broadcasts.create, { params: { id }, body: later })
      return { params: { id, broadcastId: (broadcast as { id: string }).id } }
    },
  },
  'webhooks.create': { action: 'webhook.create', prepare: async () => ({ body: webhook }) },
  'webhooks.update': {
    action: 'webhook.update',
    prepare: async (workspace) => ({ ...idOf(await makeWebhook(workspace)), body: { description: 'New' } }),
  },
  'webhooks.delete': { action: 'webhook.delete', prepare: async (workspace) => idOf(await makeWebhook(workspace)) },
  'webhooks.enable': { action: 'webhook.enable', prepare: disabled },
  'webhooks.disable': { action: 'webhook.disable', prepare: async (workspace) => idOf(await makeWebhook(workspace)) },
  'webhooks.test': { action: 'webhook.test', prepare: async (workspace) => idOf(await makeWebhook(workspace)) },
  'webhooks.rotateSecret': {
    action: 'webhook.rotate-secret',
    prepare: async (workspace) => idOf(await makeWebhook(workspace)),
  },
  'deliveries.redeliver': {
    action: 'delivery.redeliver',
    prepare: async (workspace) => idOf(await workspace.ok(contract.webhooks.test, idOf(await makeWebhook(workspace)))),
  },
  'scans.reverse': {
    action: 'scan.reverse',
    prepare: async (workspace) => {
      const { id: passId } = await issuedPass(workspace)
      const { scan } = await workspace.ok(contract.scans.create, { body: { passId } })
      return { ...idOf(scan), body: { reason: SECRET } }
    },
  },
  'doors.invite': {
    action: 'door-invitation.create',
    prepare: async (workspace) => ({ body: await invitationTo(workspace) }),
  },
  'doors.endInvitation': {
    action: 'door-invitation.end',
    prepare: async (workspace) => idOf(await invited(workspace)),
  },
  'doors.claim': {
    action: 'door.claim',
    prepare: async (workspace) => ({ body: { code: (await invited(workspace)).code, name: 'Anna' } }),
  },
  'doors.update': {
    action: 'door.update',
    prepare: async (workspace) => ({ ...idOf(await claimed(workspace)), body: { name: SECRET, gate: SECRET } }),
  },
  'doors.revoke': { action: 'door.revoke', prepare: async (workspace) => idOf(await claimed(workspace)) },
  'zones.create': {
    action: 'zone.create',
    prepare: async (workspace) => ({ body: { projectId: (await makeProject(workspace)).id, name: SECRET } }),
  },
  'zones.update': {
    action: 'zone.update',
    prepare: async (workspace) => ({ ...idOf(await makeZone(workspace)), body: { name: SECRET } }),
  },
  'zones.delete': { action: 'zone.delete', prepare: async (workspace) => idOf(await makeZone(workspace)) },
  'zones.reset': {
    action: 'zone.reset',
    prepare: async (workspace) => ({ ...idOf(await makeZone(workspace)), body: { reason: SECRET } }),
  },
  'zones.adjust': {
    action: 'zone.adjust',
    prepare: async (workspace) => {
      const params = idOf(await makeZone(workspace))
      return { ...params, body: { delta: 1, reason: SECRET, externalRef: SECRET } }
    },
  },
  'balances.createEntry': {
    action: 'balance.add',
    prepare: async (workspace) => ({
      params: { id: await passWithPoints(workspace), name: 'points' },
      body: { delta: 1, externalRef: SECRET, reason: SECRET },
    }),
  },
  'balances.reverseEntry': {
    action: 'balance.reverse',
    prepare: async (workspace) => {
      const params = { id: await passWithPoints(workspace), name: 'points' }
      const body = { delta: 1, externalRef: SECRET }
      const { entry } = await workspace.ok(contract.balances.createEntry, { params, body })
      return { params: { ...params, entryId: entry.id }, body: { reason: SECRET } }
    },
  },
  'scans.create': {
    action: 'scan.record',
    prepare: async (workspace) => ({ body: { passId: (await issuedPass(workspace)).id, context: { note: SECRET } } }),
  },
  'scanner.report': {
    action: 'scan.record',
    prepare: async (workspace) => {
      const { id: passId } = await issuedPass(workspace)
      const scannedAt = workspace.api.now.toISOString()
      const scan = { externalRef: `report of ${passId}`, passId, scannedAt, result: 'accepted', reason: 'valid' }
      return { body: { scans: [scan] } }
    },
  },
}

/** These routes take a body but change nothing. */
const reading = ['scans.replay']

const changing = allRoutes.filter(({ name, route }) => route.method !== 'GET' && !reading.includes(name))

test('this test covers every route that changes data', () => {
  expect(changing.map(({ name }) => name).sort()).toEqual(Object.keys(changes).sort())
})

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)
  let workspace: TestWorkspace
  let tokenId: string
  let requests = 0
  beforeAll(async () => {
    workspace = await api.workspace()
    tokenId = (await workspace.ok(contract.tokens.current, {})).id
  })

  const send = async (name: string) => {
    const { route } = changing.find((one) => one.name === name)!
    const { params, body, contentType } = await changes[name]!.prepare(workspace)
    requests += 1
    const correlationId = `request-${requests}`
    const headers = { 'x-correlation-id': correlationId, ...(contentType && { 'content-type': contentType }) }
    const answer = await workspace.send(route.method, targetOf(route, { params }), { body, headers })
    expect(answer.status, answer.text).toBeLessThan(300)
    const entries = await api.database.writer('audit_entries').where({ correlation_id: correlationId })
    return {
      answer,
      entries,
      correlationId,
      params,
      send: () => workspace.send(route.method, targetOf(route, { params }), { body, headers }),
    }
  }
  const logged = Object.keys(changes).filter((name) => !ownLedger.includes(name))

  test.each(logged)(
    '%s adds one entry with the actor, the action, and the resource, without written values',
    async (name) => {
      const { answer, entries, correlationId, params } = await send(name)
      expect(entries).toHaveLength(1)
      const [entry] = entries
      // Only claims have a door with a name in the response.
      const { door } = answer.body as { door?: { id: string; name: string } }
      const { entry: added } = answer.body as { entry?: { id: string } }
      const made = (door ?? added ?? answer.body) as { id?: string; totalCreated?: number }
      const named = Object.values((params ?? {}) as Record<string, string>).at(-1)
      const isMade = answer.status === 201 || name === 'upgrades.create'
      expect(entry).toMatchObject({
        workspace_id: workspace.id,
        token_id: door?.id ?? tokenId,
        actor: door?.name ?? 'test',
        action: changes[name]!.action,
        target_id: isMade ? made.id : (named ?? null),
        target_count: made.totalCreated ?? 1,
        correlation_id: correlationId,
        created_at: api.now.getTime(),
      })
      expect(JSON.stringify(entries)).not.toContain(SECRET)
    },
  )

  test.each(ownLedger)(
    '%s leaves no entry: the ledger names the token, and the log of the scan shows it',
    async (name) => {
      const { answer, entries } = await send(name)
      expect(entries).toEqual([])
      const body = answer.body as { scan?: { id: string }; results?: { scan: { id: string } }[] }
      const target = (body.scan ?? body.results![0]!.scan).id
      const { store } = api.services
      const filters = await resolveSearch(store, { target })
      expect(await listAudit(store, filters, { limit: 20 })).toMatchObject({
        total: 1,
        hasMore: false,
        items: [{ action: 'scan.record', actor: 'test', tokenId, targetId: target, workspaceId: workspace.id }],
      })
    },
  )

  test('rejections, no-ops, and dry runs leave no entry', async () => {
    const { id } = await issuedPass(workspace)
    await workspace.ok(contract.passes.void, { params: { id } })
    const before = await api.database.writer('audit_entries').count({ n: '*' })
    await workspace.refused(contract.passes.void, { params: { id } })
    await workspace.refused(contract.projects.delete, { params: { id } })
    const pass = await workspace.ok(contract.passes.get, { params: { id } })
    const body = passBody(pass.templateId!, { externalPassId: pass.externalPassId })
    await workspace.ok(contract.passes.create, { body })
    expect(await api.database.writer('audit_entries').count({ n: '*' })).toEqual(before)
  })

  test('a change that is rolled back leaves no entry', async () => {
    const { store } = api.services
    const entry = { action: 'pass.void' as const, actor: { tokenId, name: 'rolled back' }, targetId: null }
    const failing = store.transaction(async (tx) => {
      await tx.auditLog.insert(workspace.id, { ...entry, correlationId: null }, api.now)
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect(await api.database.writer('audit_entries').where({ actor: 'rolled back' })).toEqual([])
  })

  test('the log is found by workspace, actor, action, kind, row and time, in pages without gaps', async () => {
    const other = await api.workspace()
    const project = await makeProject(other)
    api.advance(60)
    const since = api.now
    await other.ok(contract.projects.update, { params: { id: project.id }, body: { name: 'New' } })
    await makeProject(other)
    const { store } = api.services
    const actions = async (search: Parameters<typeof resolveSearch>[1], limit = 20) => {
      const filters = await resolveSearch(store, search)
      const found: string[] = []
      let cursor: string | undefined
      do {
        const page = await listAudit(store, filters, { limit, cursor })
        found.push(...page.items.map((entry) => entry.action))
        cursor = page.nextCursor ?? undefined
      } while (cursor)
      return found
    }
    const workspaceName = other.id
    const all = ['project.create', 'project.update', 'project.create']
    expect(await actions({ workspace: workspaceName })).toEqual(all)
    expect(await actions({ workspace: workspaceName }, 1)).toEqual(all)
    expect(await actions({ workspace: workspaceName, since })).toEqual(all.slice(0, 2))
    expect(await actions({ workspace: workspaceName, until: new Date(since.getTime() - 1) })).toEqual(all.slice(2))
    expect(await actions({ target: project.id })).toEqual(['project.update', 'project.create'])
    expect(await actions({ workspace: workspaceName, actions: ['project.update'] })).toEqual(['project.update'])
    expect(await actions({ workspace: workspaceName, actions: ['project'] })).toEqual(all)
    expect(await actions({ workspace: workspaceName, actions: ['webhook', 'pass.void'] })).toEqual([])
    expect(await actions({ workspace: workspaceName, actors: ['test'] })).toEqual(all)
    expect(await actions({ workspace: workspaceName, actors: ['operator'] })).toEqual([])
    const { id } = await other.ok(contract.tokens.current, {})
    expect(await actions({ actors: [id] })).toEqual(all)
    await expect(actions({ actions: ['pass.fly'] })).rejects.toThrow('Unknown action pass.fly')
    await expect(actions({ actors: ['nobody'] })).rejects.toThrow('Token nobody not found')
  })
})

test('every action name has a kind and a verb, and no name contains another', () => {
  for (const action of auditActions) expect(action).toMatch(/^[a-z-]+\.[a-z-]+$/)
  expect(new Set(auditActions).size).toBe(auditActions.length)
})
