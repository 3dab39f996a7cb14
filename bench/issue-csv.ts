/**
 * Memory and speed of `passes issue` as a user runs it: a million rows with --dry-run, and 50,000 for real against
 * `passes serve` on SQLite. Run: npx tsx bench/issue-csv.ts, after npm run build. Exits 1 where the client takes more
 * than 200 MB. Reads the peak from /proc, so it runs on Linux only.
 */
import { createWriteStream, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../src/client/client.ts'
import { runClient } from './support/client-run.ts'
import { figure } from './support/figures.ts'
import { startServer } from './support/server.ts'

const LIMIT_MB = 200
const runs = [
  { rows: 1_000_000, args: ['--dry-run'] },
  { rows: 50_000, args: ['--out', 'links.csv', '--failures', 'failures.csv'] },
]

const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
const server = await startServer(`sqlite:${join(folder, 'passes.db')}`)
try {
  const templateId = await publishTicket(server.client)
  for (const { rows, args } of runs) {
    const file = `${rows}.csv`
    await writeRows(join(folder, file), rows)
    const issue = ['issue', file, '--template', templateId, ...args]
    const { result: summary, peakMb } = await runClient<Summary>(issue, server, folder)
    const isDryRun = args[0] === '--dry-run'
    const good = isDryRun ? summary.wouldCreate : summary.created
    if (good !== rows) throw new Error(`Of ${rows} rows ${good} are good`)
    const many = `${rows.toLocaleString('en')} rows${isDryRun ? ' in a dry run' : ''}`
    const size = `${Math.round(statSync(join(folder, file)).size / 1e6)} MB`
    console.log(`${many}, ${size}: ${summary.seconds.toFixed(0)} s, ${summary.rowsPerSecond.toFixed(0)} rows/s`)
    figure(`memory of passes issue, ${many}`, peakMb, { atMost: LIMIT_MB }, ' MB')
  }
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
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

async function writeRows(path: string, rows: number): Promise<void> {
  function* lines() {
    yield 'externalPassId,label,seat,day,email\n'
    for (let n = 0; n < rows; n++) yield `T-${n},"Lovelace, Ada ${n}",${n % 500}A,2027-05-31,ada.${n}@example.com\n`
  }
  await pipeline(Readable.from(lines()), createWriteStream(path))
}

interface Summary {
  created: number
  /** Of a dry run. */
  wouldCreate: number
  seconds: number
  rowsPerSecond: number
}
