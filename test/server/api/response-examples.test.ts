import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { examples } from '../../../src/core/openapi/examples.ts'
import type { Route, RouteCall, RouteResult } from '../../../src/core/route.ts'
import { type TestWorkspace, useApi } from '../../support/api.ts'
import { allRoutes, describedSuccess } from '../../support/conformance.ts'
import { type Receiver, startReceiver } from '../../support/receiver.ts'
import { makePass, publishedTemplate, publishVersion } from '../fixtures.ts'
import { usePhones } from '../inbound/phones.ts'
import { png } from './templates/pictures.ts'

/**
 * The response examples of /openapi.json, recorded from the story below, which calls every endpoint of the contract.
 * After a change of a response, or for a new endpoint in the contract and the story, PASSES_RECORD_EXAMPLES=1 writes
 * them again:
 *
 *    PASSES_RECORD_EXAMPLES=1 npx vitest run test/server/api/response-examples.test.ts
 */
const FILE = join(import.meta.dirname, '../../../src/core/openapi/response-examples.json')

type Recording = Record<string, Record<string, unknown>>

// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const api = useApi('sqlite', { outbound: { allowInsecure: true } })
// biome-ignore lint/correctness/useHookAtTopLevel: no hook of React
const phones = usePhones(api)
let recorded: Recording

test('every contract response with a body has an example', async () => {
  api.now = new Date('2027-05-20T07:30:00.000Z')
  recorded = await record(await api.workspace(), await startReceiver())
  const wanted = allRoutes.flatMap(({ name, route }) =>
    Object.keys(route.responses).flatMap((status) => (route.responses[Number(status)] ? `${name} ${status}` : [])),
  )
  const given = Object.entries(recorded).flatMap(([name, answers]) =>
    Object.keys(answers).flatMap((status) => (status === 'request' ? [] : [`${name} ${status}`])),
  )
  expect(given.sort()).toEqual(wanted.sort())
})

test('the stored examples equal the responses of the server', () => {
  if (process.env.PASSES_RECORD_EXAMPLES) writeFileSync(FILE, `${JSON.stringify(recorded, null, 2)}\n`)
  expect(
    JSON.parse(readFileSync(FILE, 'utf8')),
    'An answer changed: write the examples anew with PASSES_RECORD_EXAMPLES=1 and this test',
  ).toEqual(recorded)
})

test('each example fits its schema', () => {
  const stored = JSON.parse(readFileSync(FILE, 'utf8')) as Recording
  for (const { name, route } of allRoutes) {
    const { request: _, ...answers } = stored[name] ?? {}
    for (const [status, body] of Object.entries(answers)) {
      expect(route.responses[Number(status)]!.safeParse(body).error?.issues ?? [], `${name} ${status}`).toEqual([])
      const fits = describedSuccess(route, status)
      expect(fits(body), `${name} ${status}: ${JSON.stringify(fits.errors)}`).toBe(true)
    }
  }
})

const ticket: DefinitionInput = {
  variables: [
    { name: 'ticketType', label: 'Ticket type', default: 'Visitor' },
    { name: 'seat', label: 'Seat', required: true },
  ],
  design: {
    organizationName: 'Polyglot',
    description: 'Conference ticket',
    fields: {
      primary: [{ key: 'name', label: 'NAME', value: '{{pass.label}}' }],
      secondary: [{ key: 'seat', label: 'SEAT', value: '{{seat}}', changeMessage: 'Your seat is now %@' }],
    },
    barcode: { format: 'qr', message: '{{pass.externalPassId}}' },
  },
  redemption: { windows: [{ start: '2027-05-20T06:00Z', end: '2027-05-20T20:00Z', maxUses: 2 }] },
}

const points = { label: 'Points', kind: 'integer' as const }
const cardDesign: DefinitionInput['design'] = {
  organizationName: 'Polyglot',
  description: 'Coffee card',
  fields: { primary: [{ key: 'points', label: 'POINTS', value: '{{balance.points}}', as: 'number' }] },
}

/** Adds an identity like an operator does. */
async function addIdentity({ id: workspaceId }: TestWorkspace): Promise<void> {
  await api.services.store.transaction(async (tx) => {
    const identity = {
      platform: 'apple' as const,
      name: 'polyglot',
      isSandbox: false,
      passTypeIdentifier: 'pass.example.polyglot',
      teamIdentifier: 'POLYGLOT01',
      issuerId: null,
      expiresAt: new Date('2028-05-01T00:00:00.000Z'),
    }
    const made = await tx.identities.insert(identity, () => null, api.now)
    await tx.identities.insertGrant(workspaceId, made!.id)
  })
}

/** A conference from its project to the door: every endpoint once, in the order in which somebody would call them. */
async function record(workspace: TestWorkspace, receiver: Receiver): Promise<Recording> {
  const answers: Recording = {}
  const names = new Map(allRoutes.map(({ name, route }) => [route, name]))

  /** Calls an endpoint and records the response. */
  async function ask<R extends Route>(route: R, call: RouteCall<R>): Promise<RouteResult<R>> {
    const { status, body, text } = await workspace.call(route, call)
    expect(status, text).toBeLessThan(300)
    // Each request has its own time, so the order of lists is fixed.
    api.advance(1)
    const name = names.get(route)!
    if (text !== '') answers[name] = { request: requestOf(call as object), ...answers[name], [status]: body }
    return body as RouteResult<R>
  }

  const { projects, templates, templateVersions, images, passes, notifications, broadcasts } = contract
  const { webhooks, deliveries, scans, scanner, doors, zones, wallets, tokens, balances } = contract
  await ask(tokens.current, {})
  const project = await ask(projects.create, { body: examples.projects!.create! })
  const inProject = { params: { id: project.id } }
  await ask(projects.get, inProject)
  await ask(projects.update, { ...inProject, body: examples.projects!.update! })
  const picture = { body: await png(), contentType: 'image/png' } as const
  await ask(images.create, picture)
  await ask(images.create, picture)
  const webhook = await ask(webhooks.create, { body: { url: receiver.url, events: ['pass.issued', 'pass.scanned'] } })
  const ofWebhook = { params: { id: webhook.id } }

  const body = { ...examples.templates!.create!, projectId: project.id }
  const template = await ask(templates.create, { body })
  const ofTemplate = { params: { id: template.id } }
  const version = await ask(templates.createVersion, { ...ofTemplate, body: { definition: ticket } })
  const ofVersion = { params: { id: version.id } }
  await ask(templateVersions.update, { ...ofVersion, body: { definition: ticket } })
  await ask(templateVersions.preview, ofVersion)
  await ask(templateVersions.publish, ofVersion)
  await ask(templateVersions.get, ofVersion)
  await ask(templateVersions.list, { query: { templateId: template.id } })
  await ask(templates.update, { ...ofTemplate, body: { description: 'For everybody with a seat' } })
  await ask(templates.get, ofTemplate)
  await ask(templates.list, {})
  await ask(templates.variablesSchema, ofTemplate)

  const holder = { ...examples.passes!.create!, templateId: template.id, groupKey: 'order-1815' }
  const pass = await ask(passes.create, { body: holder })
  const ofPass = { params: { id: pass.id } }
  await api.runJobs()
  await ask(passes.create, { body: holder })
  const other = { ...holder, externalPassId: 'order-1815-2', label: 'Charles Babbage' }
  await ask(passes.createBatch, {
    body: { passes: [other, { ...other, externalPassId: 'order-1815-3', variables: {} }] },
  })
  const imported = { ...examples.passes!.import!, templateId: template.id }
  await ask(passes.import, { query: { dryRun: true }, body: imported })
  await phones.addApple(workspace.id, pass.id)
  await phones.addGoogle(workspace.id, pass.id)
  api.advance(60)
  await ask(passes.update, { ...ofPass, body: { variables: { seat: 'B-2' } } })
  await api.runJobs()
  await ask(passes.get, ofPass)
  await ask(passes.wallets, ofPass)
  await api.services.store.transaction((tx) => tx.heldPasses.settle(workspace.id, [pass.id]))
  await ask(wallets.list, { query: { limit: 1 } })
  await ask(wallets.slo, {})
  const complaint = `Get pass task (pass type pass.test.api, serial number ${pass.id}) encountered error: Unexpected response code 503`
  await api.send('POST', '/apple/v1/log', { body: { logs: [complaint] } })
  await ask(wallets.logs, {})
  await ask(wallets.nudge, { body: examples.wallets!.nudge! })
  await ask(passes.preview, ofPass)
  await ask(passes.revokeLinks, ofPass)

  const message = { body: 'Doors open at 8:30, keynote at 10.', idempotencyKey: 'doors-open-day-1' }
  const notification = await ask(notifications.create, { ...ofPass, body: message })
  await api.runJobs()
  await ask(notifications.create, { ...ofPass, body: message })
  await ask(notifications.get, { params: { id: pass.id, notificationId: notification.id } })
  await ask(notifications.list, ofPass)
  const broadcast = (await ask(broadcasts.create, { ...inProject, body: message })) as { id: string }
  await api.runJobs()
  await ask(broadcasts.create, { ...inProject, body: message })
  const ofBroadcast = { params: { id: project.id, broadcastId: broadcast.id } }
  await ask(broadcasts.get, ofBroadcast)
  await ask(broadcasts.stats, ofBroadcast)
  await ask(broadcasts.list, inProject)

  api.advance(60)
  const atGate = { projectId: project.id, deviceId: 'gate-1', context: { gate: 'North' } }
  const attempt = { ...atGate, qrPayload: 'order-1815-1', externalRef: 'gate-1-000042' }
  const scan = await ask(scans.create, { body: attempt })
  await ask(scans.explain, { ...ofPass, query: { at: '2027-05-20T18:00:00Z' } })
  const scannedAt = new Date(api.now.getTime() + 65_000).toISOString()
  const offline = { passId: pass.id, deviceId: 'gate-2', context: { gate: 'South' }, scannedAt }
  api.advance(120)
  await ask(scanner.snapshot, { query: { projectId: project.id } })
  await ask(scanner.report, {
    body: { scans: [{ ...offline, externalRef: 'gate-2-000007', result: 'denied', reason: 'quota_exhausted' }] },
  })
  await ask(scans.get, { params: { id: scan.scan.id } })
  await ask(scans.list, { query: { limit: 1 } })
  await ask(scans.stats, { query: { projectId: [project.id] } })
  const policy = { windows: [{ end: '2027-05-01T00:00:00Z' }] }
  const day = { from: '2027-05-20T00:00:00Z', to: '2027-05-20T23:00:00Z' }
  await ask(scans.replay, { body: { projectId: project.id, policy, ...day } })
  await ask(scans.reverse, { params: { id: scan.scan.id }, body: { reason: 'scanned by mistake' } })
  await ask(projects.stats, inProject)
  const to = new Date(api.now.getTime() + 1).toISOString()
  await ask(projects.figures, { ...inProject, query: { from: `${to.slice(0, 10)}T00:00:00Z`, to } })

  const invitation = await ask(doors.invite, { body: { ...examples.doors!.invite!, projectId: project.id } })
  const { door } = await ask(doors.claim, { body: { ...examples.doors!.claim!, code: invitation.code } })
  await ask(doors.update, { params: { id: door.id }, body: examples.doors!.update! })
  await ask(doors.list, { query: { projectId: [project.id] } })
  await ask(doors.revoke, { params: { id: door.id } })
  await ask(doors.endInvitation, { params: { id: invitation.id } })
  const { id: zoneId } = await ask(zones.create, { body: { ...examples.zones!.create!, projectId: project.id } })
  await workspace.ok(scans.create, { body: { passId: pass.id, zoneId } })
  await ask(zones.get, { params: { id: zoneId } })
  await ask(zones.list, { query: { projectId: [project.id] } })
  await ask(zones.update, { params: { id: zoneId }, body: examples.zones!.update! })
  await ask(zones.adjust, { params: { id: zoneId }, body: examples.zones!.adjust! })
  await ask(zones.occupancy, { params: { id: zoneId }, query: { from: '2027-05-20T07:00:00Z', by: 'hour' } })
  await ask(zones.reset, { params: { id: zoneId }, body: examples.zones!.reset! })
  await ask(zones.delete, { params: { id: zoneId } })

  const coffee = await workspace.ok(templates.create, { body: { name: 'Coffee card', passType: 'generic' } })
  const stamped = { ...ticket, variables: [], design: cardDesign, balances: { points } }
  const draft = { params: { id: coffee.id }, body: { definition: stamped } }
  const { id: draftId } = await workspace.ok(templates.createVersion, draft)
  await workspace.ok(templateVersions.publish, { params: { id: draftId } })
  const regular = { externalPassId: 'member-1815', label: 'Ada Lovelace', templateId: coffee.id, variables: {} }
  const card = await workspace.ok(passes.create, { body: regular })
  await ask(balances.list, { params: { id: card.id } })
  const ofPoints = { id: card.id, name: 'points' }
  const entry = { params: ofPoints, body: examples.balances!.createEntry! }
  const added = await ask(balances.createEntry, entry)
  await ask(balances.createEntry, entry)
  await ask(balances.listEntries, { params: ofPoints, query: { limit: 1 } })
  const undo = { ...examples.balances!.reverseEntry!, externalRef: 'cancel-1815' }
  const reversal = { params: { ...ofPoints, entryId: added.entry.id }, body: undo }
  await ask(balances.reverseEntry, reversal)
  await ask(balances.reverseEntry, reversal)

  const { id } = await ask(webhooks.test, ofWebhook)
  await api.runJobs()
  await ask(deliveries.get, { params: { id } })
  await ask(deliveries.list, { query: { limit: 1 } })
  await ask(webhooks.listDeliveries, { ...ofWebhook, query: { limit: 1 } })
  await ask(deliveries.redeliver, { params: { id } })
  await ask(webhooks.disable, ofWebhook)
  await ask(webhooks.enable, ofWebhook)
  await ask(webhooks.update, { ...ofWebhook, body: { description: 'Tickets' } })
  await ask(webhooks.get, ofWebhook)
  await ask(webhooks.list, {})
  await ask(webhooks.rotateSecret, ofWebhook)
  answers['events.follow'] = { 200: await firstEvent(workspace) }

  await ask(projects.list, {})
  await ask(passes.list, { query: { limit: 1 } })
  const coded = await publishedTemplate(workspace)
  const shown = await makePass(workspace, coded.id, { externalPassId: 'order-1815-4' })
  await ask(passes.rotateCode, { params: { id: shown.id } })
  await ask(passes.transfer, { params: { id: shown.id }, body: { label: 'Charles Babbage' } })
  await ask(passes.void, { ...ofPass, body: { reason: 'refunded' } })
  await addIdentity(workspace)
  await ask(contract.identities.list, {})
  await ask(contract.workspace.get, {})

  await ask(contract.joinPages.set, { ...ofTemplate, body: examples.joinPages!.set! })
  await ask(contract.joinPages.get, ofTemplate)

  const { upgrades } = contract
  const gate = { name: 'gate', label: 'Gate', required: true }
  const next = { ...ticket, variables: [...(ticket.variables ?? []), gate] }
  await publishVersion(workspace, template.id, next)
  const upgrade = await ask(upgrades.create, { ...ofTemplate, body: examples.upgrades!.create! })
  await api.runJobs()
  await ask(upgrades.get, { params: { id: template.id, upgradeId: upgrade.id } })
  await ask(upgrades.list, ofTemplate)
  return withoutKnownBodies(settled(answers))
}

/** Omits the request bodies that `examples` has, because the document shows those instead. */
function withoutKnownBodies(answers: Recording): Recording {
  const entries = Object.entries(answers).map(([name, { request, ...responses }]) => {
    const [resource, operation] = name.split('.') as [keyof typeof examples, string]
    const { body, ...where } = (request ?? {}) as { body?: unknown }
    const isKnown = Object.hasOwn(examples[resource] ?? {}, operation)
    const sent = { ...where, ...(body !== undefined && !isKnown && { body }) }
    return [name, { ...responses, ...(Object.keys(sent).length > 0 && { request: sent }) }]
  })
  return Object.fromEntries(entries)
}

/** Returns the request without files. */
function requestOf(call: object): object {
  const { body, ...where } = call as { body?: unknown; contentType?: string }
  return where.contentType === undefined ? { ...where, ...(body !== undefined && { body }) } : {}
}

/** Returns the oldest stored event, as a follower receives it. */
async function firstEvent({ api: { app }, token }: TestWorkspace): Promise<unknown> {
  const headers = { authorization: `Bearer ${token}`, 'last-event-id': '00000000-0000-0000-0000-000000000000' }
  const { body } = await app.fetch(new Request('https://passes.example/v1/events', { headers }))
  for await (const piece of body!) {
    const [, data] = /^data: (.*)$/m.exec(Buffer.from(piece).toString()) ?? []
    if (data !== undefined) return JSON.parse(data)
  }
}

/** Replaces the random parts of a recording, so that every recording is the same. */
function settled(answers: Recording): Recording {
  const seen = new Map<string, string>()
  const nth = (text: string, make: (n: number) => string) => {
    const known = seen.get(text) ?? make(seen.size + 1)
    seen.set(text, known)
    return known
  }
  const hex = (n: number, length: number) => n.toString(16).padStart(length, '0')
  const text = JSON.stringify(answers)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) =>
      nth(id, (n) => `01985f0c-7a10-7000-8000-${hex(n, 12)}`),
    )
    .replaceAll(/(?<=")[0-9a-f]{64}(?=")/g, (digest) => nth(digest, (n) => `9f86d081884c7d65${hex(n, 48)}`))
    .replaceAll(/psk_[A-Za-z0-9]+/g, 'psk_ExampleOfAToken0123456789abcdefABCDEF')
    .replaceAll(/(?<="code":"|door#)[A-Z2-7]{26}/g, 'D4KMR6QXW2VTBHZJ3NP5SAYGEC')
    .replaceAll(/whsec_[A-Za-z0-9_-]+/g, (secret) => nth(secret, (n) => `whsec_Example${hex(n, 25)}`))
    .replaceAll(/(?<=\/l\/)[A-Za-z0-9_-]+/g, (link) => nth(link, (n) => `AExampleOfALink${hex(n, 8)}`))
    .replaceAll(/(?<="authenticationToken":")[^"]+/g, 'ExampleOfAToken0123456789')
    .replaceAll(/(?<="workspaceName":"|"name":")workspace \d+/g, 'Polyglot')
    // The IDs of devices depend on the files that the same worker ran before.
    .replaceAll(/(?<="device(?:Id)?":")[0-9a-f]{12}(?=")/g, '03204de92e11')
    .replaceAll(/(?<="nextCursor":")[^"]+/g, 'ExampleOfACursor')
    .replaceAll(/(?<="durationMs":)\d+/g, '48')
    .replaceAll(/http:\/\/(127\.0\.0\.1|localhost):\d+/g, 'https://tickets.example.com')
  return JSON.parse(text)
}
