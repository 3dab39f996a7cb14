/**
 * Counts the round trips of a single request to each database, by endpoint. test/server/api/trips.test.ts checks the
 * same numbers. Run: npx tsx bench/trips.ts. Exits with 1 if a request makes more round trips.
 */
import { type BenchApp, openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertPasses, templateId } from './support/many-passes.ts'
import { type Endpoint, TRIPS, tripsOf } from './support/trips.ts'

interface Subject {
  id: string
  code: string
}

const newPass = (externalPassId: string) => ({ externalPassId, label: 'Ada', templateId: templateId(0) })

/** Returns, by endpoint, a request about an issued pass. */
const requests: Record<Endpoint, (pass: Subject) => [method: string, path: string, body?: object]> = {
  'GET of a pass': ({ id }) => ['GET', `/v1/passes/${id}`],
  'list of passes': () => ['GET', '/v1/passes'],
  create: ({ id }) => ['POST', '/v1/passes', newPass(`new ${id}`)],
  scan: ({ code }) => ['POST', '/v1/scans', { qrPayload: code }],
  PATCH: ({ id }) => ['PATCH', `/v1/passes/${id}`, { label: 'Grace' }],
  void: ({ id }) => ['POST', `/v1/passes/${id}/void`, {}],
}

await onEachDatabase(async (kind, create) => {
  const app = await openApp(await create('trips'))
  const { database, workspaceId } = app
  // Insert only the templates of the passes.
  await insertPasses(database.writer, workspaceId, 0)
  // Send one request first, because it fills the caches.
  const first = await issue(app, 'first')
  const second = await issue(app, 'second')
  for (const [endpoint, request] of Object.entries(requests) as [Endpoint, (typeof requests)[Endpoint]][]) {
    await send(app, ...request(first))
    const statements = await tripsOf(() => send(app, ...request(second)))
    figure(`trips to the database of ${endpoint}, ${kind}`, statements.length, {
      atMost: TRIPS[kind === 'SQLite' ? 'sqlite' : 'postgres'][endpoint],
    })
  }
  await app.close()
})

async function issue(app: BenchApp, externalPassId: string): Promise<Subject> {
  const { id } = await send(app, 'POST', '/v1/passes', newPass(externalPassId))
  const { writer } = app.database
  await writer('jobs').where({ subject: id }).delete()
  const at = { issued_at: writer.ref('created_at') }
  const [pass] = await writer('passes')
    .where({ id })
    .update({ status: 'ISSUED', ...at })
    .returning(['id', 'scan_code'])
  return { id: pass.id, code: pass.scan_code }
}

async function send({ app, token }: BenchApp, method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const request = new Request(`http://bench${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const response = await app.fetch(request)
  if (!response.ok) throw new Error(`${method} ${path} returned ${response.status}: ${await response.text()}`)
  return (await response.json()) as { id: string }
}
