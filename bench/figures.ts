/**
 * Measures figures over time on both databases: the size of two years of hourly figures for 1,000 projects, packed as
 * the server packs them, and a year of one project over HTTP, by day in a time zone with daylight saving. Each project
 * is open for twelve hours a day, with twelve kinds of events up to a hundred times per hour. Run: npx tsx
 * bench/figures.ts, after npm run build. For a short run, set PASSES_BENCH_PROJECTS; the size is then scaled to 1,000
 * projects. Exits with 1 if a figure misses its limit.
 */

import { randomInt } from 'node:crypto'
import type { Knex } from 'knex'
import { newId } from '../src/core/ids.ts'
import { insertRows } from '../src/storage/db/bulk-rows.ts'
import { isPostgres } from '../src/storage/db/dialect.ts'
import { type Figure, hourOf, pack } from '../src/storage/operations/figures-repository.ts'
import { createStore } from '../src/storage/store.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { percentile } from './support/load.ts'
import { startServer } from './support/server.ts'

const PROJECTS = Number(process.env.PASSES_BENCH_PROJECTS ?? 1_000)
const BLOCK_HOURS = 28 * 24
const YEARS = 2
const QUERIES = 200
const LIMITS = { megabytes: 200, yearMs: 50 }

const happenings = [
  ...['issued', 'updated', 'voided', 'pushed', 'fetched', 'notified', 'installed/apple', 'installed/google'],
  ...['removed/apple', 'scans/accepted', 'scans/already_scanned', 'scans/not_yet_valid'],
]

const lastBlock = Math.floor(hourOf(new Date()) / BLOCK_HOURS) - 1
const firstBlock = lastBlock - Math.ceil((YEARS * 366 * 24) / BLOCK_HOURS)

await onEachDatabase(async (kind, create) => {
  const url = await create('figures')
  let projectId = ''
  let bytes = 0
  const server = await startServer(url, [], async (database, workspaceId) => {
    const { writer } = database
    const fields = { name: 'Measured', description: '', color: 'gray' } as const
    const project = await createStore(database).transaction((tx) => tx.projects.insert(workspaceId, fields, new Date()))
    projectId = project.id
    const before = await bytesOf(writer)
    for (let n = 0; n < PROJECTS; n++) {
      await insertRows(writer, 'packed_figures', yearsOf(workspaceId, n === 0 ? projectId : newId(new Date())))
    }
    bytes = (await bytesOf(writer)) - before
  })
  try {
    const megabytes = (bytes / 1e6) * (1_000 / PROJECTS)
    const of = `${kind}, two years of 1,000 projects by the hour`
    figure(`${of}, in the database`, megabytes, { atMost: LIMITS.megabytes }, ' MB')
    const to = new Date((lastBlock + 1) * BLOCK_HOURS * 3_600_000)
    const from = new Date(to.getTime() - 365 * 86_400_000)
    const query = { from: from.toISOString(), to: to.toISOString(), by: 'day', zone: 'Europe/Berlin' } as const
    const times: number[] = []
    for (let n = 0; n < QUERIES; n++) {
      const startedAt = performance.now()
      const { items } = await server.client.projects.figures({ params: { id: projectId }, query })
      times.push(performance.now() - startedAt)
      if (items.length < 365) throw new Error(`A year has ${items.length} days`)
    }
    console.log(`${kind}: a year by day, median ${percentile(times, 0.5).toFixed(1)} ms of ${QUERIES}`)
    figure(`${kind}, a year of a project by day, p95`, percentile(times, 0.95), { atMost: LIMITS.yearMs }, ' ms')
  } finally {
    await server.stop()
  }
})

/** Creates the rows of a project, all of which differ. */
function yearsOf(workspace_id: string, project_id: string) {
  return Array.from({ length: lastBlock - firstBlock + 1 }, (_, index) => {
    const block = firstBlock + index
    const counted: Figure[] = []
    for (let hour = block * BLOCK_HOURS; hour < (block + 1) * BLOCK_HOURS; hour++) {
      if (hour % 24 < 10 || hour % 24 >= 22) continue
      for (const figure of happenings) counted.push({ hour, figure, n: randomInt(0, 101) })
    }
    return { workspace_id, project_id, block, packed: pack(counted, block) }
  })
}

async function bytesOf(db: Knex): Promise<number> {
  if (isPostgres(db)) {
    const { rows } = await db.raw(`select pg_total_relation_size('packed_figures') as bytes`)
    return Number(rows[0].bytes)
  }
  const [{ page_count }] = await db.raw('PRAGMA page_count')
  const [{ page_size }] = await db.raw('PRAGMA page_size')
  return page_count * page_size
}
