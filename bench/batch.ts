/**
 * Measures passes created per second over HTTP in batches of 100, by a separate server with the API role, against raw
 * inserts of the same rows with prepared statements, in transactions of the same size. bench/issue-csv.ts measures the
 * time until they are ISSUED. Run: npx tsx bench/batch.ts (after npm run build). Exits with 1 if a target is missed.
 */
import { readFileSync } from 'node:fs'
import { attendees } from '../examples/generator/attendees.ts'
import type { Client } from '../src/client/client.ts'
import { openDatabase } from '../src/storage/db/database.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertRaw, openRaw, readRows } from './support/raw-inserts.ts'
import { median, ROUNDS, rounds, spread, timeAll } from './support/rounds.ts'
import { startServer } from './support/server.ts'

const BATCH_SIZE = 100
const BATCHES = 25
const IN_FLIGHT = 4
const TARGET = 0.4

/** The tables that a create writes in addition to `passes`, with the column that names the pass. */
const written = {
  pass_identifiers: 'pass_id',
  pass_variables: 'pass_id',
  pass_windows: 'pass_id',
  jobs: 'subject',
}

await onEachDatabase(async (kind, create) => compare(kind, await create('api'), await create('raw')))

async function compare(kind: string, apiUrl: string, rawUrl: string): Promise<void> {
  const server = await startServer(apiUrl, ['--role', 'api'])
  const templateId = await publishTicket(server.client)
  const api = openDatabase(apiUrl)
  const raw = await openRaw(rawUrl, api)

  const rates = { api: [] as number[], raw: [] as number[] }
  const cpu: number[] = []
  for (const round of rounds(ROUNDS + 1)) {
    const bodies = batchesOf(templateId, round)
    const before = server.cpuMilliseconds()
    const apiSeconds = await timeAll(
      bodies.map((passes) => () => server.client.passes.createBatch({ body: { passes } })),
      IN_FLIGHT,
    )
    const spent = (server.cpuMilliseconds() - before) / (BATCHES * BATCH_SIZE)
    const names = bodies.flat().map(({ externalPassId }) => externalPassId)
    const ids: string[] = await api.reader('passes').whereIn('external_pass_id', names).pluck('id')
    const rows = await readRows(api, ids, written, BATCH_SIZE)
    const rawSeconds = await timeAll(
      rows.map((batch) => () => insertRaw(raw, batch)),
      IN_FLIGHT,
    )
    // Discard the first round, which warms up both sides.
    if (round === 0) continue
    rates.api.push((BATCHES * BATCH_SIZE) / apiSeconds)
    rates.raw.push((BATCHES * BATCH_SIZE) / rawSeconds)
    cpu.push(spent)
  }
  await Promise.all([server.stop(), api.close(), raw.close()])
  console.log(`${kind}: over HTTP ${spread(rates.api)} passes/s, raw inserts ${spread(rates.raw)} passes/s`)
  console.log(`${kind}: ${spread(cpu, 2)} ms of the server's CPU time per pass`)
  const ratio = median(rates.api) / median(rates.raw)
  figure(`passes created in batches to raw inserts of their rows, ${kind}`, ratio, { atLeast: TARGET })
}

/** Publishes the conference ticket of the examples, without its images. Returns the ID of the template. */
async function publishTicket(client: Client): Promise<string> {
  const file = new URL('../examples/conference/template.json', import.meta.url)
  const { name, passType, definition } = JSON.parse(readFileSync(file, 'utf8'))
  const { id } = await client.templates.create({ body: { name, passType } })
  const version = await client.templates.createVersion({
    params: { id },
    body: { definition: { ...definition, design: { ...definition.design, images: {} } } },
  })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}

function batchesOf(templateId: string, round: number) {
  const count = BATCHES * BATCH_SIZE
  const passes = attendees({ seed: round, first: round * count, count }).map(
    ({ externalPassId, label, ...columns }) => ({
      externalPassId,
      label,
      templateId,
      variables: Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== '')),
    }),
  )
  return Array.from({ length: BATCHES }, (_, n) => passes.slice(n * BATCH_SIZE, (n + 1) * BATCH_SIZE))
}
