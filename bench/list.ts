import type { Page } from '../src/core/contract/common.ts'
import { type BenchApp, openApp } from './support/app.ts'
import { onEachDatabase } from './support/databases.ts'
import { figure } from './support/figures.ts'
import { familyName, insertPasses, passId, templateId } from './support/many-passes.ts'

/**
 * Pages of GET /v1/passes on both databases: deep against first, and among a million passes against a thousand. Ratios of
 * medians; the count of a walk's first page stands on a line of its own. Run: npx tsx bench/list.ts
 */

const FEW = 1_000
const MANY = Number(process.env.PASSES_BENCH_ROWS ?? 1_000_000)
const ROUNDS = 60
const LIMITS = { deep: 1.5, many: 2 }

interface Filter {
  name: string
  query: string
  /** How many passes of n it leaves, roughly: a filter that leaves less than a page has no deep page. */
  isDeep: boolean
}

const filters: Filter[] = [
  { name: 'no filter', query: '', isDeep: true },
  { name: 'status=VOID', query: 'status=VOID', isDeep: false },
  { name: 'templateId', query: `templateId=${templateId(3)}`, isDeep: true },
  { name: 'variable (common)', query: 'variable=tier:3', isDeep: true },
  { name: 'variable (rare)', query: 'variable=seat:777', isDeep: false },
  { name: 'search', query: `search=${familyName(777)}`, isDeep: false },
  { name: 'label, by label', query: 'label=ban&labelMatch=prefix&sortBy=label', isDeep: false },
]

await onEachDatabase(async (kind, create) => {
  const few = await open(await create('few'), FEW)
  const many = await open(await create('many'), MANY)
  for (const filter of filters) await compareSizes(kind, filter, few, many)
  for (const filter of filters.filter(({ isDeep }) => isDeep)) await compareDepths(kind, filter, many)
  await Promise.all([few.database.close(), many.database.close()])
})
process.exit()

async function compareSizes(kind: string, { name, query }: Filter, few: BenchApp, many: BenchApp): Promise<void> {
  const small = await firstPage(few, query)
  const large = await firstPage(many, query)
  const what = `a page of the list among ${MANY.toLocaleString('en')} to ${FEW.toLocaleString('en')}, ${name}, ${kind}`
  figure(what, large.page / small.page, { atMost: LIMITS.many }, 'x')
  const counts = [large, small].map(
    ({ page, counted }) => `${page.toFixed(1)} ms, with the count ${counted.toFixed(1)}`,
  )
  console.log(`  ${counts.join(' to ')}`)
}

async function compareDepths(kind: string, { name, query }: Filter, many: BenchApp): Promise<void> {
  const first = await firstPage(many, query)
  const deep = await deepPage(many, query)
  figure(`page 10,000 to page 1 of the list, ${name}, ${kind}`, deep / first.page, { atMost: LIMITS.deep }, 'x')
  console.log(`  ${deep.toFixed(1)} ms to ${first.page.toFixed(1)}`)
}

async function open(databaseUrl: string, count: number): Promise<BenchApp> {
  const app = await openApp(databaseUrl)
  const startedAt = performance.now()
  await insertPasses(app.database.writer, app.workspaceId, count)
  console.log(
    `  ${count.toLocaleString('en')} passes inserted in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`,
  )
  return app
}

/** Medians of the page alone (its cursor carries the count) and of the first page of a walk, which counts. */
async function firstPage(app: BenchApp, query: string): Promise<{ page: number; counted: number }> {
  const path = `/v1/passes?${query}`
  const counted = await median(() => app.get<Page<unknown>>(path), 5)
  const { nextCursor } = await app.get<Page<unknown>>(`${path}&limit=1`)
  const page = await median(() => app.get(nextCursor ? `${path}&cursor=${nextCursor}` : path), ROUNDS)
  return { page, counted }
}

async function deepPage(app: BenchApp, query: string): Promise<number> {
  const path = `/v1/passes?${query}`
  const cursor = cursorBehind(await app.get<Page<unknown>>(`${path}&limit=1`), passId(Math.max(1, MANY - 200_000)))
  return median(() => app.get(`${path}&cursor=${cursor}`), ROUNDS)
}

/** The cursor of a page moved to another row: the default order is that of ids. */
function cursorBehind({ nextCursor }: Page<unknown>, id: string): string {
  const [walk, total, offset] = JSON.parse(Buffer.from(nextCursor!, 'base64url').toString())
  return Buffer.from(JSON.stringify([walk, total, offset, id, id])).toString('base64url')
}

async function median(work: () => Promise<unknown>, rounds: number): Promise<number> {
  const times: number[] = []
  for (let round = 0; round < rounds + 2; round += 1) {
    const startedAt = performance.now()
    await work()
    if (round >= 2) times.push(performance.now() - startedAt)
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length / 2)]!
}
