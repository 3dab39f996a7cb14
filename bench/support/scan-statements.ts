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

/** What each scan puts into statements of its own. */
type Own = Record<'pass' | 'digest' | 'scan' | 'event' | 'context', string> & { digestBytes: Uint8Array }

export interface Statement {
  sql: string
  /** The values of one scan, in order. */
  values: ((own: Own) => Knex.Value)[]
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
      values: bindings.map((value) => toOwn(value, knownIn(sql, bindings, { ...subject, scanId: scan.id }))),
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
  const digestBytes = identifierDigest(subject.qrPayload)
  const own = {
    pass: subject.passId,
    digest: Buffer.from(digestBytes).toString('hex'),
    digestBytes,
    context: scanContextKey,
    scan: newId(at),
    event: newId(at),
  }
  const run = (db: Knex, { sql, values }: Statement) =>
    db.raw(positional(sql), values.map((value) => value(own)) as Knex.RawBinding[])
  for (const statement of statements.filter(({ isBefore }) => isBefore)) await run(database.reader, statement)
  await database.writer.transaction(async (tx) => {
    for (const statement of statements.filter(({ isBefore }) => !isBefore)) await run(tx, statement)
  })
}

/** The texts of the captured scan that others have their own of. */
function knownIn(sql: string, bindings: Knex.Value[], { passId, qrPayload, scanId }: Subject & { scanId: string }) {
  const digest = Buffer.from(identifierDigest(qrPayload)).toString('hex')
  const known = { [passId]: 'pass', [digest]: 'digest', [scanId]: 'scan', captured: 'context' } as const
  // The first value of an event is its id.
  return /insert into events /.test(sql) ? { ...known, [String(bindings[0])]: 'event' as const } : known
}

/** The same value for another scan: what it knows of the captured one is replaced, in lists and in JSON, too. */
function toOwn(value: Knex.Value, known: Record<string, keyof Own>): (own: Own) => Knex.Value {
  if (Buffer.isBuffer(value)) return (own) => own.digestBytes as Knex.Value
  if (Array.isArray(value)) {
    const items = value.map((item) => toOwn(item as Knex.Value, known))
    return (own) => items.map((item) => item(own)) as Knex.Value
  }
  if (typeof value !== 'string') return () => value
  return (own) =>
    Object.entries(known).reduce((text, [from, name]) => text.replaceAll(from, own[name] as string), value)
}

/** knex numbers the values of PostgreSQL itself, from question marks. */
function positional(sql: string): string {
  return sql.replaceAll(/\$\d+/g, '?')
}
