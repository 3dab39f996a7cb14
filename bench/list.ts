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
  const path = `/v1/passes?${query}`
  const apps = [few, many]
  const counted = await medians(
    apps.map((app) => () => app.get(path)),
    5,
  )
  const pages = await Promise.all(apps.map((app) => pageOf(app, query)))
  const [small, large] = await medians(pages, ROUNDS)
  const what = `a page of the list among ${MANY.toLocaleString('en')} to ${FEW.toLocaleString('en')}, ${name}, ${kind}`
  figure(what, large! / small!, { atMost: LIMITS.many }, 'x')
  const both = [large!, small!].map((page, i) => `${page.toFixed(1)} ms, with the count ${counted[1 - i]!.toFixed(1)}`)
  console.log(`  ${both.join(' to ')}`)
}

async function compareDepths(kind: string, { name, query }: Filter, many: BenchApp): Promise<void> {
  const pages = [await pageOf(many, query), await deepPageOf(many, query)]
  const [first, deep] = await medians(pages, ROUNDS)
  figure(`page 10,000 to page 1 of the list, ${name}, ${kind}`, deep! / first!, { atMost: LIMITS.deep }, 'x')
  console.log(`  ${deep!.toFixed(1)} ms to ${first!.toFixed(1)}`)
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

type Work = () => Promise<unknown>

/** A page alone: its cursor carries the count, which the first page of a walk makes. */
async function pageOf(app: BenchApp, query: string): Promise<Work> {
  const path = `/v1/passes?${query}`
  const { nextCursor } = await app.get<Page<unknown>>(`${path}&limit=1`)
  return () => app.get(nextCursor ? `${path}&cursor=${nextCursor}` : path)
}

async function deepPageOf(app: BenchApp, query: string): Promise<Work> {
  const path = `/v1/passes?${query}`
  const cursor = cursorBehind(await app.get<Page<unknown>>(`${path}&limit=1`), passId(Math.max(1, MANY - 200_000)))
  return () => app.get(`${path}&cursor=${cursor}`)
}

/** The cursor of a page moved to another row: the default order is that of ids. */
function cursorBehind({ nextCursor }: Page<unknown>, id: string): string {
  const [walk, total, offset] = JSON.parse(Buffer.from(nextCursor!, 'base64url').toString())
  return Buffer.from(JSON.stringify([walk, total, offset, id, id])).toString('base64url')
}

/** Of works that take turns, since the speed of the machine comes and goes. */
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
