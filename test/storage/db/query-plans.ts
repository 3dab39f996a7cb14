import type { Knex } from 'knex'
import type pg from 'pg'
import { beforeAll, expect } from 'vitest'
import { insertPasses, passId } from '../../../bench/support/many-passes.ts'
import { insertScans } from '../../../bench/support/many-scans.ts'
import { newId, parseUuid } from '../../../src/core/ids.ts'
import { insertRows } from '../../../src/storage/db/bulk-rows.ts'
import { type Database, openDatabase } from '../../../src/storage/db/database.ts'
import { createMatcher, type PassFilters } from '../../../src/storage/passes/list/pass-conditions.ts'
import type { PassListRequest } from '../../../src/storage/passes/list/pass-list.ts'
import { findRange, matchingInRange } from '../../../src/storage/passes/list/pass-walk.ts'
import type { ScanListRequest } from '../../../src/storage/scans/scans-repository.ts'
import { createStore, type Store } from '../../../src/storage/store.ts'
import { cleanUpAfterAll, migratedDatabase, type TestDialect } from '../../support/databases.ts'
import { insertWorkspace, start } from '../fixtures.ts'

export const ROWS = 10_000

/** Tables that can become large. */
const LARGE = [
  'passes',
  'pass_variables',
  'pass_windows',
  'pass_identifiers',
  'projects',
  'templates',
  'webhook_deliveries',
  'delivery_keys',
  'webhook_attempts',
  'accepted_scans',
  'scans',
  'zone_movements',
]

export type ScanFilters = Omit<Partial<ScanListRequest>, 'cursor' | 'offset'>

export type Filters = Omit<Partial<PassListRequest>, 'cursor' | 'offset'>

export interface Statement {
  sql: string
  bindings: Knex.Value[]
}

export interface Plan {
  text: string
  /** Whether the plan belongs to the query of a page, and not to an additional query. */
  isPage?: boolean
  /** Whether the plan belongs to the query of the total, which reads each counted row. */
  isCount?: boolean
  /** Large tables that are read completely. */
  fullScans: string[]
  /** The number of rows that are sorted. SQLite does not report it, so a sort counts as all rows. */
  sorted: number
  /** The number of rows of large tables that were read, if the database reports it. */
  rowsRead: number
}

/** Creates a workspace with many rows, once for the tests of a block. Returns functions for the plans of its lists. */
export function useLists(dialect: TestDialect) {
  const cleanUp = cleanUpAfterAll()
  let database: Database
  let store: Store
  let workspaceId: string
  const statements: Statement[] = []
  // Plans of SQLite depend on the statistics of the migration, not on the rows. There are enough rows for two pages.
  const rows = dialect === 'sqlite' ? ROWS / 4 : ROWS

  beforeAll(async () => {
    database = openDatabase(await migratedDatabase(dialect, cleanUp))
    cleanUp(() => database.close())
    store = createStore(database)
    workspaceId = await insertWorkspace(store)
    const db = database.writer
    await insertPasses(db, workspaceId, rows)
    await addWindowsAndScans(db, workspaceId)
    await addProjectsAndTemplates(db, workspaceId, rows)
    await insertScans(db, workspaceId, rows, rows / 5)
    await addMovements(db, workspaceId)
    // SQLite keeps the statistics from its migration.
    if (dialect === 'postgres') await db.raw('vacuum analyze')
    for (const connection of new Set([database.reader, database.writer])) {
      connection.on('query', ({ sql, bindings }: Statement) => statements.push({ sql, bindings }))
    }
  })

  const explain = async (statement: Statement): Promise<Plan> => ({
    ...(await (dialect === 'sqlite'
      ? explainSqlite(database.reader, statement)
      : explainPostgres(database.writer, statement))),
    isPage: statement.sql.includes('sort_key'),
    isCount: / count\(/.test(statement.sql),
  })

  return {
    /** Returns the plans of the statements for two pages, starting at an offset. */
    async plansOf(name: 'passes' | 'projects' | 'templates', filters: Filters, offset = 0): Promise<Plan[]> {
      const request = { limit: 20, offset, sortBy: 'createdAt', sortDir: 'desc' as const, ...filters }
      statements.length = 0
      const { nextCursor } = await store[name].list(workspaceId, request, start)
      if (nextCursor) await store[name].list(workspaceId, { ...request, offset: undefined, cursor: nextCursor }, start)
      expect(statements.some(({ sql }) => sql.includes('sort_key'))).toBe(true)
      return Promise.all([...statements].map(explain))
    },

    /** Returns the plan of a chunk of the passes of a template that match a filter, and the range of the chunk. */
    async planOfChunk(templateId: string, filters: PassFilters) {
      const db = database.reader
      const range = await findRange(db, workspaceId, { templateId }, passId(rows / 2), rows / 100)
      const matching = await createMatcher(db, workspaceId, filters, start)
      statements.length = 0
      await matchingInRange(db, workspaceId, { templateId }, range, matching).select('passes.id')
      const [statement] = statements.splice(0)
      const end = dialect === 'sqlite' ? await endOfSearch(db, statement!) : undefined
      return { range, plan: await explain(statement!), end }
    },

    /** Returns the plans of the statements for the first two pages of a snapshot. */
    async plansOfDoorList(projectId: string | null): Promise<Plan[]> {
      const request = { projectId, madeUntil: start, limit: 20 }
      statements.length = 0
      const { rows } = await store.snapshotEntries.list(workspaceId, request)
      await store.snapshotEntries.list(workspaceId, { ...request, after: rows.at(-1)?.passId ?? newId(start) })
      return Promise.all(statements.splice(0).map(explain))
    },

    /** Returns the plans of the first two pages of the ledger, as plansOf does. */
    async plansOfScans(filters: ScanFilters): Promise<Plan[]> {
      statements.length = 0
      const { nextCursor } = await store.scans.list(workspaceId, { limit: 20, ...filters })
      if (nextCursor) await store.scans.list(workspaceId, { limit: 20, ...filters, cursor: nextCursor })
      const asked = statements.filter(({ sql }) => !/ count\(/.test(sql))
      expect(asked.some(({ sql }) => sql.includes('sort_key'))).toBe(true)
      return Promise.all(asked.map(explain))
    },

    /** Returns the plans of all statements of a function. */
    async plansOfWork(work: (store: Store, workspaceId: string) => Promise<unknown>): Promise<Plan[]> {
      statements.length = 0
      await work(store, workspaceId)
      return Promise.all(statements.filter(({ sql }) => /^(select|with|delete|update)/i.test(sql)).map(explain))
    },

    async plansOfSweep(): Promise<Plan[]> {
      statements.length = 0
      await store.passes.hasExpired(start)
      await store.transaction((tx) => tx.passes.expire(start, 100))
      const asked = statements.filter(({ sql }) => sql.includes('expires_at'))
      expect(asked).toHaveLength(2)
      return Promise.all(asked.map(explain))
    },
  }
}

/** Adds an identifier to each pass, and windows and scans to a fifth of them. Also changes some passes. */
async function addWindowsAndScans(db: Knex, workspaceId: string): Promise<void> {
  const ids: string[] = await db('passes').orderBy('id').pluck('id')
  await db.transaction(async (tx) => {
    const fifth = ids.flatMap((id, n) => (n % 5 === 0 ? [{ n, row: { workspace_id: workspaceId, pass_id: id } }] : []))
    const startDate = (n: number) => `2027-01-${String(1 + (n % 28)).padStart(2, '0')}`
    const windows = fifth.map(({ n, row }) => ({ ...row, start_date: startDate(n) }))
    await insertRows(tx, 'pass_windows', windows)
    const scans = fifth.map(({ n, row }) => ({
      ...row,
      scan_id: row.pass_id,
      scan_context_key: '2027-01-01',
      scanned_at: n,
    }))
    await insertRows(tx, 'accepted_scans', scans)
    const identifier = (id: string) => ({ workspace_id: workspaceId, digest: parseUuid(id), pass_id: id, active: true })
    await insertRows(tx, 'pass_identifiers', ids.map(identifier))
    await tx('passes').whereIn('id', tx('pass_windows').select('pass_id')).update({ has_windows: true })
    await tx('passes').whereIn('id', ids.slice(0, 50)).update({ revision: 3, template_version: 3 })
  })
}

/** The zone of the movements, one per millisecond since 1970. Half of them are of the first pass. */
export const ZONE = '01985f0c-7a10-7000-8000-000000000001'

async function addMovements(db: Knex, workspaceId: string): Promise<void> {
  const zone = { id: ZONE, workspace_id: workspaceId, project_id: ZONE, name: 'x', when_full: 'warn' }
  await db('zones').insert({ ...zone, inside: 0, alerted: 0, segment: 0, version: 0, created_at: 0, updated_at: 0 })
  const movements = Array.from({ length: ROWS }, (_, n) => ({
    scan_id: passId(n),
    workspace_id: workspaceId,
    zone_id: ZONE,
    pass_id: passId(n < ROWS / 2 ? 1 + Math.floor(n / 2) : 1),
    segment: 0,
    at: n,
    sequence: 1,
    direction: n % 2 === 0 ? 'in' : 'out',
    delta: n % 2 === 0 ? 1 : -1,
  }))
  await db.transaction((tx) => insertRows(tx, 'zone_movements', movements))
}

async function addProjectsAndTemplates(db: Knex, workspaceId: string, count: number): Promise<void> {
  const rows = Array.from({ length: count }, (_, n) => ({
    id: newId(start),
    workspace_id: workspaceId,
    name: `name ${n}`,
    description: '',
    created_at: n,
    updated_at: n,
  }))
  await db.transaction(async (tx) => {
    await insertRows(
      tx,
      'projects',
      rows.map((row) => ({ ...row, color: 'gray' })),
    )
    await insertRows(
      tx,
      'templates',
      rows.map((row) => ({ ...row, pass_type: 'generic', latest_version: 0 })),
    )
  })
}

export async function explainSqlite(db: Knex, { sql, bindings }: Statement): Promise<Plan> {
  const steps: { parent: number; detail: string }[] = await db.raw(`explain query plan ${sql}`, bindings)
  const text = steps.map(({ detail }) => detail).join('\n')
  const scans = [...text.matchAll(/^SCAN (\w+)/gm)].map(([, table]) => table!)
  // The top level orders the rows of the page itself. A sort below it orders all matching rows.
  const sorts = steps.some(({ parent, detail }) => parent !== 0 && detail === 'USE TEMP B-TREE FOR ORDER BY')
  const isWhole =
    /^SEARCH (passes|projects|templates|scans|webhook_deliveries|delivery_keys) USING (COVERING )?INDEX \w+ \(workspace_id=\?\)$/m.test(
      text,
    )
  // The keys of these tables begin with the workspace. A search by the workspace only would read all of its rows.
  const walked = [
    ...text.matchAll(
      /^SEARCH (pass_identifiers|pass_variables|pass_windows) USING (?:COVERING )?INDEX \w+ \(workspace_id=\?\)$/gm,
    ),
  ].map(([, table]) => table!)
  return {
    text,
    fullScans: [...scans.filter((table) => LARGE.includes(table)), ...walked],
    sorted: sorts && isWhole ? ROWS : 0,
    rowsRead: 0,
  }
}

/**
 * Returns the value at which the first index search of a statement ends on SQLite. A plan shows only that a search has
 * such a value.
 */
async function endOfSearch(db: Knex, { sql, bindings }: Statement): Promise<Knex.Value | undefined> {
  type Step = { opcode: string; p1: number; p2: number; p3: number; p4: string }
  const program: Step[] = await db.raw(`explain ${sql}`, bindings)
  const end = program.findIndex(({ opcode }) => /^Idx(GT|GE)$/.test(opcode))
  const { p3, p4 } = program[end]!
  const register = p3 + Number(p4) - 1
  const load = program.slice(0, end).findLast(({ opcode, p2 }) => opcode === 'Variable' && p2 === register)
  return load && bindings[load.p1 - 1]
}

interface PostgresStep {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PostgresStep[]
}

export async function explainPostgres(db: Knex, { sql, bindings }: Statement): Promise<Plan> {
  // Use the driver directly, because knex would misread `$1` in the statement.
  const connection: pg.Client = await db.client.acquireConnection()
  const { rows } = await connection
    .query(`explain (analyze, timing off, format json) ${sql}`, bindings)
    .finally(() => db.client.releaseConnection(connection))
  const root: PostgresStep = rows[0]['QUERY PLAN'][0].Plan
  const steps = flatten(root)
  const isLarge = (step: PostgresStep) => LARGE.includes(step['Relation Name'] ?? '')
  const all = (counted: PostgresStep[], rowsOf: (step: PostgresStep) => number) =>
    counted.reduce((sum, step) => sum + rowsOf(step) * step['Actual Loops'], 0)
  const sorts = steps.filter((step) => step['Node Type'] === 'Sort')
  return {
    text: JSON.stringify(root, null, 1),
    fullScans: steps
      .filter((step) => step['Node Type'] === 'Seq Scan' && isLarge(step))
      .map((step) => step['Relation Name']!),
    sorted: all(
      sorts.flatMap((step) => step.Plans ?? []),
      (step) => step['Actual Rows'],
    ),
    rowsRead: all(steps.filter(isLarge), (step) => step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)),
  }
}

function flatten(step: PostgresStep): PostgresStep[] {
  return [step, ...(step.Plans ?? []).flatMap(flatten)]
}
