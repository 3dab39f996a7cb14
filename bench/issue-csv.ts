/**
 * Measures `passes issue` as users run it, against `passes serve` on each database: rows per second until every pass is
 * ISSUED, in rounds of 5,000 that alternate with raw inserts of the same rows, and once with 50,000. Also measures the
 * memory of the client, including a dry run with a million rows. Run: npx tsx bench/issue-csv.ts, after npm run build.
 * Exits with 1 if a target is missed. Reads peak memory and CPU time from /proc, so it runs on Linux only.
 */
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../src/client/client.ts'
import { type Database, openDatabase } from '../src/storage/db/database.ts'
import { runClient } from './support/client-run.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { insertRaw, openRaw, readRows } from './support/raw-inserts.ts'
import { finish, median, ROUNDS, rounds, spread, timeAll } from './support/rounds.ts'
import { type BenchServer, startServer } from './support/server.ts'

const LIMIT_MB = 200
const ROWS = 5_000
const MANY = 50_000
const DRY = 1_000_000
const TARGET = 0.3

/** The tables that issuing writes in addition to `passes`, with the column that names the pass. */
const written = { pass_identifiers: 'pass_id', pass_variables: 'pass_id', events: 'subject' }
const PASSES_IN_TRANSACTION = 100

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
try {
  await onEachDatabase(async (kind, create) => {
    const url = await create('issued')
    const server = await startServer(url)
    const issued = openDatabase(url)
    const templateId = await publishTicket(server.client)
    const raw = await openRaw(await create('raw'), issued)
    await compare(kind, { server, issued, raw, templateId })
    if (kind === 'SQLite')
      await weigh(`${DRY.toLocaleString('en')} rows in a dry run`, server, templateId, ['--dry-run'])
    await Promise.all([server.stop(), issued.close(), raw.close()])
  })
} finally {
  rmSync(folder, { recursive: true, force: true })
}

interface Sides {
  server: BenchServer
  issued: Database
  raw: Database
  templateId: string
}

async function compare(kind: string, { server, issued, raw, templateId }: Sides): Promise<void> {
  const rates = { issued: [] as number[], raw: [] as number[] }
  const cpu: number[] = []
  for (const round of rounds(ROUNDS + 1)) {
    const before = server.cpuMilliseconds()
    const { seconds, ids } = await issueRows(`${kind}-${round}`, ROWS, { server, issued, templateId })
    const spent = (server.cpuMilliseconds() - before) / ROWS
    const rows = await readRows(issued, ids, written, PASSES_IN_TRANSACTION)
    const rawSeconds = await timeAll(
      rows.map((some) => () => insertRaw(raw, some)),
      4,
    )
    // Discard the first round, which warms up both sides.
    if (round === 0) continue
    rates.issued.push(ROWS / seconds)
    rates.raw.push(ROWS / rawSeconds)
    cpu.push(spent)
  }
  console.log(`${kind}: ${spread(rates.issued)} rows/s until ISSUED, raw inserts ${spread(rates.raw)} passes/s`)
  console.log(`${kind}: ${spread(cpu, 2)} ms of the server's CPU time per row`)
  const ratio = median(rates.issued) / median(rates.raw)
  figure(`rows of a CSV until ISSUED to raw inserts of their rows, ${kind}`, ratio, { atLeast: TARGET })
  const many = await issueRows(`${kind}-many`, MANY, { server, issued, templateId })
  console.log(
    `${kind}: ${MANY.toLocaleString('en')} rows at once, ${(MANY / many.seconds).toFixed(0)} rows/s until ISSUED`,
  )
  figure(`memory of passes issue, ${MANY.toLocaleString('en')} rows, ${kind}`, many.peakMb, { atMost: LIMIT_MB }, ' MB')
}

/** Issues rows. Returns the seconds until the last pass is ISSUED, and the IDs of the passes. */
async function issueRows(name: string, rows: number, { server, issued, templateId }: Omit<Sides, 'raw'>) {
  const file = `${name}.csv`
  await writeRows(join(folder, file), name, rows)
  const args = [
    'issue',
    file,
    '--template',
    templateId,
    '--out',
    `${name}.out.csv`,
    '--failures',
    `${name}.failures.csv`,
  ]
  const start = performance.now()
  const { result, peakMb } = await runClient<Summary>(args, server, folder)
  if (result.created !== rows) throw new Error(`Only ${result.created} of ${rows} rows are valid`)
  const waiting = issued.reader('jobs').where({ kind: 'issue-pass' })
  await finish('rows to issue', async () => ((await waiting.clone().first('id')) ? 1 : 0), 10)
  const seconds = (performance.now() - start) / 1000
  const ofRound = issued.reader('passes').where('external_pass_id', 'like', `${name}-%`)
  const ids: string[] = await ofRound.where({ status: 'ISSUED' }).pluck('id')
  if (ids.length !== rows) throw new Error(`Only ${ids.length} of ${rows} passes are ISSUED`)
  return { seconds, ids, peakMb }
}

async function weigh(what: string, server: BenchServer, templateId: string, args: string[]): Promise<void> {
  await writeRows(join(folder, 'dry.csv'), 'dry', DRY)
  const issue = ['issue', 'dry.csv', '--template', templateId, ...args]
  const { result, peakMb } = await runClient<Summary>(issue, server, folder)
  if (result.created !== DRY) throw new Error(`Only ${result.created} of ${DRY} rows are valid`)
  console.log(`${what}: ${result.rowsPerSecond.toFixed(0)} rows/s`)
  figure(`memory of passes issue, ${what}`, peakMb, { atMost: LIMIT_MB }, ' MB')
}

async function publishTicket(client: Client): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket' } })
  const definition = {
    variables: [
      { name: 'seat', label: 'Seat', required: true, maxLength: 10 },
      { name: 'day', label: 'Day', required: true, format: 'date' as const },
      { name: 'email', label: 'E-mail', format: 'email' as const },
    ],
    design: { organizationName: 'Bench', description: 'Ticket' },
  }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  return id
}

async function writeRows(path: string, name: string, rows: number): Promise<void> {
  function* lines() {
    yield 'externalPassId,label,seat,day,email\n'
    for (let n = 0; n < rows; n++)
      yield `${name}-${n},"Lovelace, Ada ${n}",${n % 500}A,2027-05-31,ada.${n}@example.com\n`
  }
  await pipeline(Readable.from(lines()), createWriteStream(path))
}

interface Summary {
  /** The number of created passes. In a dry run, the number that would be created. */
  created: number
  rowsPerSecond: number
}
