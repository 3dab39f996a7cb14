/**
 * Passes a second created over HTTP in batches of 100, by a server of the API role in a process of its own, against raw
 * knex inserts of the very rows that it wrote, in transactions of as many passes. Run: npx tsx bench/batch.ts (after
 * npm run build). Exits 1 where a target is missed.
 */
import { readFileSync } from 'node:fs'
import { attendees } from '../examples/generator/attendees.ts'
import type { Client } from '../src/client/client.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { insertMany } from '../src/storage/db/dialect.ts'
import { migrate } from '../src/storage/db/migrate.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { best, timeAll } from './support/rounds.ts'
import { startServer } from './support/server.ts'

const BATCH_SIZE = 100
const BATCHES = 25
const IN_FLIGHT = 4
const ROUNDS = 6
const TARGET = 0.4

/** What a pass refers to, and what creating one writes, with the column that names the pass. */
const given = ['workspaces', 'templates', 'template_versions']
const written = {
  passes: 'id',
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
  const raw = openDatabase(rawUrl)
  await migrate(raw)
  for (const table of given) await insertMany(raw.writer, table, (await api.reader(table)).map(withoutGenerated))

  const rates = { api: [] as number[], raw: [] as number[] }
  for (let round = 0; round <= ROUNDS; round++) {
    const bodies = batchesOf(templateId, round)
    const apiSeconds = await timeAll(
      bodies.map((passes) => () => server.client.passes.createBatch({ body: { passes } })),
      IN_FLIGHT,
    )
    const rows = await rowsOf(api, bodies)
    const rawSeconds = await timeAll(
      rows.map((batch) => () => insertBatch(raw, batch)),
      IN_FLIGHT,
    )
    // The first round warms both up.
    if (round === 0) continue
    rates.api.push((BATCHES * BATCH_SIZE) / apiSeconds)
    rates.raw.push((BATCHES * BATCH_SIZE) / rawSeconds)
  }
  await Promise.all([server.stop(), api.close(), raw.close()])
  const [overHttp, inserted] = [best(rates.api), best(rates.raw)]
  console.log(`${kind}: over HTTP ${overHttp.toFixed(0)} passes/s, raw knex ${inserted.toFixed(0)} passes/s`)
  figure(`passes created in batches to raw inserts of their rows, ${kind}`, overHttp / inserted, { atLeast: TARGET })
}

/** The conference ticket of the examples, without its images. */
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

type Rows = Record<string, object[]>

/** Every row that the server wrote for each batch. */
async function rowsOf({ reader }: Database, batches: { externalPassId: string }[][]): Promise<Rows[]> {
  const all: Rows[] = []
  for (const batch of batches) {
    const passes = await reader('passes').whereIn(
      'external_pass_id',
      batch.map((pass) => pass.externalPassId),
    )
    const ids = passes.map((pass) => pass.id)
    const rows: Rows = {}
    for (const [table, column] of Object.entries(written)) rows[table] = await reader(table).whereIn(column, ids)
    rows.passes = passes.map(withoutGenerated)
    if (rows.passes.length !== BATCH_SIZE || rows.jobs?.length !== BATCH_SIZE) throw new Error('Rows are missing')
    all.push(rows)
  }
  return all
}

/** The row without what the database makes by itself. */
function withoutGenerated(row: Record<string, unknown>): object {
  return Object.fromEntries(
    Object.entries(row).filter(([column]) => !/^(row_number|expiry_key|.*_beginning)$/.test(column)),
  )
}

function insertBatch({ writer }: Database, rows: Rows): Promise<void> {
  return writer.transaction(async (tx) => {
    for (const [table, some] of Object.entries(rows)) await insertMany(tx, table, some)
  })
}
