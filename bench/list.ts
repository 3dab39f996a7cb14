import type { Knex } from 'knex'
import type { Page } from '../src/core/contract/schemas/common.ts'
import { newId } from '../src/core/ids.ts'
import { type BenchApp, openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { familyName, insertPasses, passId, templateId } from './support/many-passes.ts'
import { insertScans } from './support/many-scans.ts'

/**
 * Measures lists and figures on both databases, with a million rows and with ten thousand: first pages with their
 * total, next pages, pages deep in the list, and the figures of scans, of a project, and of a broadcast. The results
 * are ratios of medians. Run: npx tsx bench/list.ts
 */

const FEW = 10_000
const MANY = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const ROUNDS = Number(process.env.PASSES_BENCH_ROUNDS ?? 60)
/** The number of rows before page 10,000. */
const DEPTH = Math.min(200_000, MANY / 2)
const LIMITS = { deep: 1.5, next: 2, first: 3, figures: 50 }

interface Filter {
  name: string
  query: string
  /** Whether the total is stored, so that the cost of a first page does not depend on the number of rows. */
  isCounted?: true
  /** Whether the filter leaves enough passes for a deep page. */
  isDeep: boolean
}

const filters: Filter[] = [
  { name: 'no filter', query: '', isCounted: true, isDeep: true },
  { name: 'status=VOID', query: 'status=VOID', isCounted: true, isDeep: false },
  { name: 'status=QUEUED', query: 'status=QUEUED', isCounted: true, isDeep: false },
  { name: 'status=VOID or FAILED', query: 'status=VOID&status=FAILED', isCounted: true, isDeep: false },
  { name: 'status=ISSUED', query: 'status=ISSUED', isCounted: true, isDeep: true },
  { name: 'templateId', query: `templateId=${templateId(3)}`, isCounted: true, isDeep: true },
  { name: 'variable (common)', query: 'variable=tier:3', isDeep: true },
  { name: 'variable (rare)', query: 'variable=seat:777', isDeep: false },
  { name: 'search', query: `search=${familyName(777)}`, isDeep: false },
  { name: 'label, by label', query: 'label=ban&labelMatch=prefix&sortBy=label', isDeep: false },
]

interface Side extends BenchApp {
  projectId: string
  broadcastId: string
}

await onEachDatabase(async (kind, create) => {
  const few = await open(await create('few'), FEW)
  const many = await open(await create('many'), MANY)
  for (const filter of filters) await comparePages(kind, filter, few, many)
  await compareFirst(kind, 'scans', '/v1/scans?', few, many)
  await compareFirst(kind, 'scans, result=accepted', '/v1/scans?result=accepted', few, many)
  await compareFirst(kind, 'scans, result=denied', '/v1/scans?result=denied', few, many)
  for (const filter of filters.filter(({ isDeep }) => isDeep)) await compareDepths(kind, filter, many)
  await timeFigures(kind, few, many)
  await Promise.all([few.close(), many.close()])
})
process.exit()

async function comparePages(kind: string, filter: Filter, few: BenchApp, many: BenchApp): Promise<void> {
  const { name, query } = filter
  if (filter.isCounted) await compareFirst(kind, `passes, ${name}`, `/v1/passes?${query}`, few, many)
  const [small, large] = await medians(await Promise.all([few, many].map((app) => pageOf(app, query))), ROUNDS)
  const what = `a next page of passes among ${MANY.toLocaleString('en')} to ${FEW.toLocaleString('en')}, ${name}, ${kind}`
  figure(what, large! / small!, { atMost: LIMITS.next }, 'x')
  console.log(`  ${large!.toFixed(1)} ms to ${small!.toFixed(1)}`)
}

async function compareFirst(kind: string, name: string, path: string, few: BenchApp, many: BenchApp): Promise<void> {
  const [small, large] = await medians(
    [few, many].map((app) => () => app.get(path)),
    ROUNDS,
  )
  const what = `a first page of ${name} among ${MANY.toLocaleString('en')} to ${FEW.toLocaleString('en')}, ${kind}`
  figure(what, large! / small!, { atMost: LIMITS.first }, 'x')
  console.log(`  ${large!.toFixed(1)} ms to ${small!.toFixed(1)}`)
}

async function compareDepths(kind: string, { name, query }: Filter, many: BenchApp): Promise<void> {
  const pages = [await pageOf(many, query), await pageOf(many, query, DEPTH / (name === 'no filter' ? 1 : 20))]
  const [first, deep] = await medians(pages, ROUNDS)
  figure(`a deep page to page 2 of passes, ${name}, ${kind}`, deep! / first!, { atMost: LIMITS.deep }, 'x')
  console.log(`  ${deep!.toFixed(1)} ms to ${first!.toFixed(1)}`)
}

async function timeFigures(kind: string, few: Side, many: Side): Promise<void> {
  const paths: [string, (side: Side) => string][] = [
    ['scans', () => '/v1/scans/stats'],
    ['scans by project', () => '/v1/scans/stats?groupBy=project'],
    ['scans of a context', () => `/v1/scans/stats?scanContextKey=${encodeURIComponent('context 7')}`],
    ['scans since their beginning', () => '/v1/scans/stats?scannedSince=2026-07-01T00:00:00Z'],
    ['a project', ({ projectId }) => `/v1/projects/${projectId}/stats`],
    ['a broadcast', ({ projectId, broadcastId }) => `/v1/projects/${projectId}/broadcasts/${broadcastId}/stats`],
  ]
  for (const [name, pathOf] of paths) {
    const [small, large] = await medians(
      [few, many].map((app) => () => app.get(pathOf(app))),
      ROUNDS,
    )
    figure(`figures of ${name} among ${MANY.toLocaleString('en')}, ${kind}`, large!, { atMost: LIMITS.figures }, ' ms')
    console.log(`  ${large!.toFixed(1)} ms to ${small!.toFixed(1)} among ${FEW.toLocaleString('en')}`)
  }
}

async function open(databaseUrl: string, count: number): Promise<Side> {
  const app = await openApp(databaseUrl)
  const { database, services, workspaceId } = app
  const startedAt = performance.now()
  const { projectId, broadcastId } = await services.store.transaction(async (tx) => {
    const at = new Date()
    const project = await tx.projects.insert(workspaceId, { name: 'Fair', description: '', color: 'blue' }, at)
    const broadcast = { id: newId(at), projectId: project.id, body: 'Hello', options: {}, sendAt: null }
    await tx.broadcasts.insert(workspaceId, { ...broadcast, platforms: ['apple'], idempotencyKey: null }, at)
    return { projectId: project.id, broadcastId: broadcast.id }
  })
  await insertPasses(database.writer, workspaceId, count, projectId)
  await insertScans(database.writer, workspaceId, count, count)
  await insertNotifications(database.writer, workspaceId, broadcastId, count)
  console.log(
    `  ${count.toLocaleString('en')} of each inserted in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  return { ...app, projectId, broadcastId }
}

/** Inserts a notification for each pass, with the ID of the pass. */
async function insertNotifications(db: Knex, workspaceId: string, broadcastId: string, count: number): Promise<void> {
  const chunk = 50_000
  for (let start = 1; start <= count; start += chunk) {
    await db.raw(
      `insert into notifications (id, workspace_id, pass_id, broadcast_id, apple_status, device_count, google_status,
        created_at, updated_at)
      select id, workspace_id, id, ${db.client.dialect === 'postgresql' ? 'cast(? as uuid)' : '?'},
        case when revision % 2 = 0 then 'SENT' else 'PENDING' end, 0, 'SKIPPED', 1, 1
      from passes where workspace_id = ? and id between ? and ?`,
      [broadcastId, workspaceId, passId(start), passId(Math.min(count, start + chunk - 1))],
    )
  }
}

type Work = () => Promise<unknown>

/**
 * Returns a function that reads the page that begins `behind` rows after the first row. The cursor contains the total,
 * which only the first page of a list computes.
 */
async function pageOf(app: BenchApp, query: string, behind = 0): Promise<Work> {
  const path = `/v1/passes?${query}`
  const { nextCursor } = await app.get<Page<unknown>>(`${path}&limit=1${behind > 0 ? `&offset=${behind}` : ''}`)
  return () => app.get(nextCursor ? `${path}&cursor=${nextCursor}` : path)
}

/**
 * Returns the median time of each function, in milliseconds. Calls the functions in turn, because the speed of the
 * machine varies.
 */
async function medians(works: Work[], rounds: number): Promise<number[]> {
  const times: number[][] = works.map(() => [])
  for (let round = 0; round < rounds + 2; round += 1) {
    for (const [i, work] of works.entries()) {
      const startedAt = performance.now()
      await work()
      if (round >= 2) times[i]!.push(performance.now() - startedAt)
    }
  }
  return times.map((some) => some.sort((a, b) => a - b)[Math.floor(some.length / 2)]!)
}
