import type { Knex } from 'knex'
import { ApiError } from '../../src/core/errors.ts'
import { newId } from '../../src/core/ids.ts'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { evaluateScans, findMatches, toStoredScan, writeScans } from '../../src/server/api/scans/evaluate-scans.ts'
import type { RequestContext } from '../../src/server/context.ts'
import { createDefinitions } from '../../src/server/wallet-sync/definitions.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { toHex } from '../../src/storage/passes/identifiers.ts'
import { createStore } from '../../src/storage/store.ts'

/** Captures the statements of a set of scans, and runs them again, prepared, for other passes. */

export interface Subject {
  passId: string
  qrPayload: string
  scanContextKey: string
}

export interface Statement {
  sql: string
  bindings: Knex.Value[]
  /** Whether the read runs before the transaction, on another connection. */
  isBefore: boolean
}

/** The statements of a set of scans, each of a different pass. */
export interface CapturedScans {
  /** The name of the prepared statement. */
  name: string
  subjects: Subject[]
  statements: Statement[]
  /** The IDs that were created for the scans. */
  madeIds: Set<string>
}

/** Records scans as the server does, in one set, and captures the statements. */
export async function captureScans(
  database: Database,
  workspaceId: string,
  subjects: Subject[],
): Promise<CapturedScans> {
  const statements: Statement[] = []
  let isBefore = true
  const listen = ({ sql, bindings = [] }: { sql: string; bindings?: Knex.Value[] }) => {
    if (/^begin/i.test(sql)) isBefore = false
    else if (!/^commit/i.test(sql)) statements.push({ sql, bindings, isBefore })
  }
  const connections = [...new Set([database.reader, database.writer])]
  const store = createStore(database)
  const definitions = createDefinitions(store)
  const now = new Date()
  const context = { now, token: { id: newId(new Date(now.getTime() - 1)) } } as RequestContext
  for (const connection of connections) connection.on('query', listen)
  const matches = await findMatches(
    store,
    workspaceId,
    subjects.map(({ qrPayload }) => ({ qrPayload })),
  )
  await store.transaction(async (tx) => {
    const attempts = subjects.map(({ qrPayload, scanContextKey }, n) => {
      return { qrPayload, scanContextKey, realTime: now, statusAt: now, matches: matches[n]! }
    })
    const decisions = await evaluateScans(tx, workspaceId, attempts, definitions)
    const evaluated = attempts.map((attempt, n) => {
      const decision = decisions[n]!
      if (decision instanceof ApiError) throw decision
      return { scan: toStoredScan(attempt, decision, context), decision, correlationId: `bench ${n}` }
    })
    if ((await writeScans(tx, workspaceId, evaluated)).size < subjects.length) throw new Error('A scan was not written')
  })
  for (const connection of connections) connection.removeListener('query', listen)
  const isMade = (id: string) => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) >= now.getTime()
  const texts = statements.flatMap(({ bindings }) => JSON.stringify(bindings).match(UUID) ?? [])
  return { name: `scans-${subjects.length}`, subjects, statements, madeIds: new Set(texts.filter(isMade)) }
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/** The parts of a value that can differ between scans: IDs, digests, and contexts, including the end of the context. */
const OWN = new RegExp(`${UUID.source}|[0-9a-f]{64}|bench <\\d+>`, 'g')

/** Returns the same statements with the values of other passes. Call this function before the measurement. */
export function prepareReplay({ subjects, statements, madeIds }: CapturedScans, others: Subject[]): Statement[] {
  const at = new Date()
  const pairs = subjects.flatMap((subject, n): [string, string][] => [
    [subject.passId, others[n]!.passId],
    [toHex(identifierDigest(subject.qrPayload)), toHex(identifierDigest(others[n]!.qrPayload))],
    [subject.scanContextKey, others[n]!.scanContextKey],
  ])
  const values = new Map([...pairs, ...[...madeIds].map((id): [string, string] => [id, newId(at)])])
  const toOther = (value: Knex.Value): Knex.Value => {
    if (Array.isArray(value)) return value.map((item) => toOther(item as Knex.Value)) as Knex.Value
    return typeof value === 'string' ? value.replaceAll(OWN, (text) => values.get(text) ?? text) : value
  }
  return statements.map((statement) => ({ ...statement, bindings: statement.bindings.map(toOther) }))
}

/** Runs the statements, prepared by name, in a transaction like that of the server. */
export async function replay({ reader, writer }: Database, name: string, statements: Statement[]): Promise<void> {
  const run = (db: Knex, { sql, bindings }: Statement, n: number) =>
    db.raw(positional(sql), bindings as Knex.RawBinding[]).options({ name: `${name}-${n}` })
  for (const [n, statement] of statements.entries()) if (statement.isBefore) await run(reader, statement, n)
  await writer.transaction(async (tx) => {
    for (const [n, statement] of statements.entries()) if (!statement.isBefore) await run(tx, statement, n)
  })
}

/** Returns the SQL with question marks, because knex numbers the parameters of PostgreSQL itself. */
function positional(sql: string): string {
  return sql.replaceAll(/\$\d+/g, '?')
}
