import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Route } from '../../../src/core/route.ts'
import { type TestWorkspace, targetOf, useApi } from '../../support/api.ts'
import { allRoutes, described, schemaAt } from '../../support/conformance.ts'
import { dialects } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { png } from '../api/templates/pictures.ts'
import { issuedPass, makeProject } from '../fixtures.ts'
import { type KnownIds, oddValues, valuesOf } from './json-values.ts'

/** The number of requests on each database. Set PASSES_FUZZ_RUNS for more. */
const runs = Number(process.env.PASSES_FUZZ_RUNS ?? times(100, 2_000))
const title = 'whatever is sent, no answer is a 5xx, each fits its schema, and what the description refuses is refused'
const JSON_BODY = '/requestBody/content/application~1json/schema'

interface FuzzedRequest {
  name: string
  target: string
  body?: unknown
  headers: Record<string, string>
}

interface Parameter {
  name: string
  in: string
  required: boolean
  schema: object
}

describe.each(dialects)('on %s', (dialect) => {
  const api = useApi(dialect)

  test(title, { timeout: 300_000 + 50 * runs }, async () => {
    const workspace = await api.workspace()
    const ids = await someOfEach(workspace)
    const statuses = new Set<number>()

    const batches = ['passes.createBatch', 'passes.import']
    await fc.assert(
      fc.asyncProperty(requests(ids), async ({ name, target, body, headers }) => {
        const { route } = allRoutes.find((one) => one.name === name)!
        const answer = await workspace.send(route.method, target, { body, headers })
        statuses.add(answer.status)
        expect(answer.status, answer.text).toBeLessThan(500)
        // The result of a batch item reports its errors.
        const isWhole = typeof body === 'object' && route.body && !headers['content-type'] && !batches.includes(name)
        if (isWhole && !described(route, JSON_BODY)(body))
          expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
      }),
      { numRuns: runs },
    )
    await api.runJobs()
    const waiting = await api.database.writer('passes').whereIn('status', ['QUEUED', 'ISSUING'])
    expect(waiting).toEqual([])
    // Some requests reached the handlers.
    expect([...statuses]).toEqual(expect.arrayContaining([200, 400, 404]))
  })
})

/** Creates rows of every kind. Returns their IDs by the name of the path parameter. */
async function someOfEach(workspace: TestWorkspace): Promise<KnownIds> {
  const ids: KnownIds = {
    projectId: [],
    templateId: [],
    templateVersionId: [],
    passId: [],
    image: [],
    webhookId: [],
    deliveryId: [],
    scanId: [],
    notificationId: [],
    broadcastId: [],
    doorId: [],
  }
  for (let count = 0; count < 3; count += 1) {
    const project = await makeProject(workspace)
    const pass = await issuedPass(workspace, { projectId: project.id })
    const draft = await workspace.ok(contract.templates.createVersion, { params: { id: pass.templateId! } })
    const color = `#00000${count}`
    const image = await workspace.ok(contract.images.create, { body: await png({ color }), contentType: 'image/png' })
    const body = { body: 'Doors open at 7', sendAt: '2026-12-01T00:00:00Z' }
    const notification = await workspace.ok(contract.notifications.create, { params: { id: pass.id }, body })
    const broadcast = await workspace.ok(contract.broadcasts.create, { params: { id: project.id }, body })
    ids.notificationId!.push(notification.id)
    ids.broadcastId!.push((broadcast as { id: string }).id)
    const expiresAt = '2026-03-20T00:00:00Z'
    const invited = { projectId: project.id, gate: 'North', uses: 1000, expiresAt }
    const { code } = await workspace.ok(contract.doors.invite, { body: invited })
    const { door } = await workspace.ok(contract.doors.claim, { body: { code, name: 'Anna' } })
    ids.doorId!.push(door.id)
    const endpoint = { url: `https://hooks.example/${count}`, events: ['pass.updated' as const] }
    const webhook = await workspace.ok(contract.webhooks.create, { body: endpoint })
    const delivery = await workspace.ok(contract.webhooks.test, { params: { id: webhook.id } })
    ids.webhookId!.push(webhook.id)
    ids.deliveryId!.push(delivery.id)
    ids.projectId!.push(project.id)
    ids.templateId!.push(pass.templateId!)
    ids.templateVersionId!.push(draft.id, pass.templateVersionId!)
    ids.passId!.push(pass.id)
    ids.scanId!.push((await workspace.ok(contract.scans.create, { body: { passId: pass.id } })).scan.id)
    ids.image!.push(image.id)
  }
  return ids
}

/** The kind of row that {id} stands for, by the start of the path. */
const idNames: Record<string, string> = {
  projects: 'projectId',
  templates: 'templateId',
  'template-versions': 'templateVersionId',
  passes: 'passId',
  webhooks: 'webhookId',
  deliveries: 'deliveryId',
  scans: 'scanId',
  doors: 'doorId',
}

/** Generates requests to any route. Each part of a request sometimes matches the contract and sometimes does not. */
function requests(ids: KnownIds): fc.Arbitrary<FuzzedRequest> {
  const anyId = fc.constantFrom(...Object.values(ids).flat())
  return fc.constantFrom(...allRoutes).chain(({ name, route }) =>
    fc
      .record({
        id: fc.oneof({ weight: 10, arbitrary: ownId(route, ids) }, anyId, fc.uuid(), fc.string({ maxLength: 40 })),
        notificationId: fc.constantFrom(...ids.notificationId!),
        broadcastId: fc.constantFrom(...ids.broadcastId!),
        query: queries(route, ids),
        body: bodies(route, ids),
        headers: headersOf(route),
      })
      .map(({ query, body, headers, ...params }) => ({
        name,
        target: targetOf(route, { params, query }),
        ...(route.method !== 'GET' && body !== undefined && { body }),
        headers,
      })),
  )
}

function ownId(route: Route, ids: KnownIds): fc.Arbitrary<string> {
  const [, resource = ''] = /\/([\w-]+)\/\{id\}/.exec(route.path) ?? []
  return fc.constantFrom(...(ids[idNames[resource] ?? ''] ?? Object.values(ids).flat()))
}

function queries(route: Route, ids: KnownIds): fc.Arbitrary<Record<string, unknown>> {
  const parameters = (schemaAt(route, '/parameters') as Parameter[]).filter((parameter) => parameter.in === 'query')
  const known = Object.fromEntries(parameters.map(({ name, schema }) => [name, valuesOf(schema, ids, name)]))
  const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name)
  // The more filters a request has, the more often one of them is invalid, so use at most three.
  const some = fc.subarray(Object.keys(known), { maxLength: Math.min(3, parameters.length) }).chain((names) => {
    const wanted = new Set([...names, ...requiredKeys])
    return fc.record(Object.fromEntries(Object.entries(known).filter(([name]) => wanted.has(name))))
  })
  const odd = fc.dictionary(
    fc.constantFrom('limit', 'cursor', 'sortBy', 'x'),
    fc.string({ unit: 'binary', maxLength: 20 }),
    {
      minKeys: 1,
      maxKeys: 2,
    },
  )
  return fc.oneof(
    { weight: 8, arbitrary: some as fc.Arbitrary<Record<string, unknown>> },
    { weight: 1, arbitrary: odd },
  )
}

function bodies(route: Route, ids: KnownIds): fc.Arbitrary<unknown> {
  if (route.rawBody) return fc.uint8Array({ maxLength: 100 })
  if (!route.body)
    return fc.oneof(
      { weight: 5, arbitrary: fc.constant(undefined) },
      oddValues.map((odd) => ({ odd })),
    )
  const sound = valuesOf(schemaAt(route, JSON_BODY), ids)
  return fc.oneof(
    { weight: 8, arbitrary: sound },
    {
      weight: 2,
      arbitrary: fc
        .tuple(sound, fc.string(), oddValues)
        .map(([body, key, odd]) => ({ ...(body as object), [key]: odd })),
    },
    { weight: 1, arbitrary: fc.dictionary(fc.string(), fc.jsonValue()) },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  )
}

function headersOf(route: Route): fc.Arbitrary<Record<string, string>> {
  const text = fc.stringMatching(/^[ -~]{0,20}$/)
  const type: Record<string, string> = route.rawBody ? { 'content-type': route.rawBody.contentTypes[0]! } : {}
  return fc.oneof(
    { weight: 8, arbitrary: fc.constant(type) },
    text.map((value) => ({ 'x-correlation-id': value, ...type })),
    text.map((value) => ({ 'content-type': value })),
    fc.constantFrom('"1"', '*', 'W/"1"', '1, 2', 'x').map((value) => ({ 'if-match': value, ...type })),
  )
}
