import type { Knex } from 'knex'
import { newId } from '../../src/core/ids.ts'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { recordScan } from '../../src/server/api/scans/record-scan.ts'
import { createDefinitions } from '../../src/server/wallet-sync/definitions.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { createStore } from '../../src/storage/store.ts'

/** The statements of one scan, and the same again for another pass. */

export interface Subject {
  passId: string
  qrPayload: string
}

/** A place in a statement where each scan puts something of its own. */
interface Own {
  own: 'pass' | 'digest' | 'scan' | 'event' | 'context'
}
type Value = Knex.Value | Own

export interface Statement {
  sql: string
  values: Value[]
  /** Reads that go before the transaction, on another connection. */
  isBefore: boolean
}

/** Records one scan as the server does, and keeps what it asked of the database. */
export async function captureScan(database: Database, workspaceId: string, subject: Subject): Promise<Statement[]> {
  const seen: { sql: string; bindings: Knex.Value[] }[] = []
  const listen = ({ sql, bindings = [] }: { sql: string; bindings?: Knex.Value[] }) => seen.push({ sql, bindings })
  const connections = [...new Set([database.reader, database.writer])]
  const store = createStore(database)
  const definitions = createDefinitions(store)
  const token = { id: newId(new Date()) }
  const context = { store, workspaceId, definitions, token, now: new Date(), correlationId: 'bench' }
  const record = (scanContextKey: string) =>
    recordScan({ qrPayload: subject.qrPayload, scanContextKey }, context as Parameters<typeof recordScan>[1])
  // The first scan of a template also reads its definition.
  await record('warm')
  for (const connection of connections) connection.on('query', listen)
  const { scan } = await record('captured')
  for (const connection of connections) connection.removeListener('query', listen)
  const begin = seen.findIndex(({ sql }) => /^begin/i.test(sql))
  return seen
    .filter(({ sql }) => !/^(begin|commit)/i.test(sql))
    .map(({ sql, bindings }) => ({
      sql,
      isBefore: seen.findIndex((one) => one.sql === sql) < begin,
      values: bindings.map((value) => toOwn(value, { ...subject, workspaceId, scanId: scan.id, sql })),
    }))
}

/** The same statements for another pass, in a transaction like that of the server. */
export async function replayScan(
  database: Database,
  statements: Statement[],
  subject: Subject,
  scanContextKey: string,
): Promise<void> {
  const at = new Date()
  const own: Record<string, Knex.Value> = {
    pass: subject.passId,
    digest: identifierDigest(subject.qrPayload),
    context: scanContextKey,
    scan: newId(at),
    event: newId(at),
  }
  const run = (db: Knex, { sql, values }: Statement) =>
    db.raw(positional(sql), values.map((value) => (isOwn(value) ? own[value.own]! : value)) as Knex.RawBinding[])
  for (const statement of statements.filter(({ isBefore }) => isBefore)) await run(database.reader, statement)
  await database.writer.transaction(async (tx) => {
    for (const statement of statements.filter(({ isBefore }) => !isBefore)) await run(tx, statement)
  })
}

function toOwn(value: Knex.Value, known: Subject & { workspaceId: string; scanId: string; sql: string }): Value {
  if (value === known.passId) return { own: 'pass' }
  if (value === known.scanId) return { own: 'scan' }
  if (value === 'captured') return { own: 'context' }
  if (Buffer.isBuffer(value)) return { own: 'digest' }
  const isNewEvent = /insert into events /.test(known.sql) && value !== known.workspaceId
  return isNewEvent && /^[0-9a-f-]{36}$/.test(String(value)) ? { own: 'event' } : value
}

function isOwn(value: Value): value is Own {
  return value !== null && typeof value === 'object' && 'own' in value
}

/** knex numbers the values of PostgreSQL itself, from question marks. */
function positional(sql: string): string {
  return sql.replaceAll(/\$\d+/g, '?')
}
