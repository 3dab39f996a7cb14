import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import type { Database } from '../db/database.ts'
import { isPostgres } from '../db/dialect.ts'
import { type Notation, notationFor, type RowKey, RowsDigest, readRows, writeRows } from './rows.ts'
import { type Table, tablesOf } from './tables.ts'
import { ANEW, findFilled, findState, finishTarget, isHalfCopied, prepareTarget, setState } from './target.ts'

/** What of the work is at hand, and how many rows were worked through: each is read, written, and read there. */
export interface CopyProgress {
  step: 'copy' | 'check' | 'finish'
  rows: number
  /** Of both steps that take rows. */
  total: number
}

/** What was copied of a table. */
export interface CopiedTable {
  name: string
  rows: number
  /** The sum of the SHA-256 of its rows, as hexadecimal text; the same in both databases. */
  digest: string
}

/** How a database is copied. */
export interface CopyOptions {
  onProgress?: (progress: CopyProgress) => void
}

/** What cannot be copied, or was not: says why, and what to do. */
class CopyError extends SetupError {
  override readonly name = 'CopyError'
}

/**
 * Copies all that a database of either kind holds into another one, which is empty or holds what an earlier run copied
 * (decisions/0021). Nobody writes to the source meanwhile: it is locked, and reads go on. What was copied is read again in
 * the target before anybody may use it. May be ended at any moment, and goes on from there when it is run again.
 * @throws CopyError
 */
export async function copyDatabase(from: Database, to: Database, options: CopyOptions = {}): Promise<CopiedTable[]> {
  const pairs = await pairsOf(from.reader, to.reader)
  const names = pairs.map(({ target }) => target.name)
  if (to.dialect === 'sqlite') await to.writer.raw('pragma foreign_keys = off')
  if (!(await isHalfCopied(to.writer))) {
    const filled = await findFilled(to.reader, names)
    if (filled !== undefined) {
      throw new CopyError(`The database to copy into holds data (${filled}).`, {
        fix: 'give one that is empty; a whole FILE.copy of an earlier run is to be renamed, or removed',
      })
    }
    await prepareTarget(to.writer, names)
  }
  return from.writer.transaction(async (held) => {
    await holdWrites(held, names)
    return copyTables(held, to, pairs, options)
  })
}

/** A table of the source, and the same of the target. */
interface Pair {
  table: Table
  target: Table
}

/** Tables that both have: others beside them are another program's. */
async function pairsOf(source: Knex, target: Knex): Promise<Pair[]> {
  const tables = new Map((await tablesOf(source)).map((table) => [table.name, table]))
  const pairs = (await tablesOf(target)).flatMap((one) => {
    const table = tables.get(one.name)
    return table ? [{ table, target: one }] : []
  })
  for (const pair of pairs) {
    const [columns, others] = [pair.table, pair.target].map((table) => JSON.stringify(table.columns))
    if (columns === others) continue
    throw new CopyError(`The table ${pair.table.name} has other columns in the two databases.`, {
      fix: 'give an empty one, which gets its tables from this program',
    })
  }
  return pairs
}

/** Until the end of the transaction; on SQLite it does so by itself. */
async function holdWrites(tx: Knex.Transaction, tables: string[]): Promise<void> {
  if (!isPostgres(tx)) return
  await tx.raw('set local idle_in_transaction_session_timeout = 0')
  await tx.raw(`lock table ${tables.map((name) => `"${name}"`).join(', ')} in share mode`)
  await readByKeys(tx)
}

/** Tables that were just filled have no statistics: PostgreSQL would sort all of one for each page. */
async function readByKeys(tx: Knex.Transaction): Promise<void> {
  if (isPostgres(tx)) await tx.raw(`set local enable_seqscan = off; set local enable_sort = off`)
}

async function copyTables(
  source: Knex,
  to: Database,
  pairs: Pair[],
  { onProgress }: CopyOptions,
): Promise<CopiedTable[]> {
  const notation = notationFor(to.writer)
  let total = 0
  for (const { table } of pairs) total += 2 * Number((await source(table.name).count({ n: '*' }).first())!.n)
  let rows = 0
  const passed = (step: 'copy' | 'check') => (count: number) => {
    rows += count
    onProgress?.({ step, rows, total })
  }
  const copied: { target: Table; digest: RowsDigest }[] = []
  for (const pair of pairs) {
    const digest = await copyTable(source, to.writer, { ...pair, notation }, passed('copy'))
    copied.push({ target: pair.target, digest })
  }
  await to.writer.transaction(async (tx) => {
    await readByKeys(tx)
    for (const { target, digest } of copied) {
      const found = await digestOf(tx, { table: target, notation }, passed('check'))
      if (found.equals(digest)) continue
      const message = `${target.name} has other rows in the copy than in the database: ${found.count} and ${digest.count}.`
      throw new CopyError(message, { fix: `${ANEW}; if it comes again, please report it` })
    }
  })
  onProgress?.({ step: 'finish', rows, total })
  await finishTarget(to.writer)
  return copied.map(({ target, digest }) => ({ name: target.name, rows: digest.count, digest: digest.toJSON().sum }))
}

interface Reading {
  table: Table
  notation: Notation
}

async function copyTable(
  source: Knex,
  writer: Knex,
  { table, target, notation }: Pair & Reading,
  onRows: (count: number) => void,
): Promise<RowsDigest> {
  let state = await findState(writer, table.name)
  const done = new RowsDigest(state && JSON.parse(state))
  const digest = new RowsDigest()
  const isDone = () => digest.count >= done.count
  for await (const texts of walk(source, { table, notation }, done.count)) {
    const isNew = isDone()
    digest.add(texts)
    if (isNew) {
      const next = JSON.stringify(digest)
      await writer.transaction(async (tx) => {
        if (!(await setState(tx, table.name, { known: state, next }))) {
          throw new CopyError('Another run copies into the same database.', { fix: 'wait for its end' })
        }
        await writeRows(tx, target, texts)
      })
      state = next
    } else if (isDone()) requireSame(digest, done, table)
    onRows(texts.length)
  }
  if (!isDone()) requireSame(digest, done, table)
  return digest
}

/** What an earlier run copied must still be what the source has. */
function requireSame(digest: RowsDigest, done: RowsDigest, { name }: Table): void {
  if (digest.equals(done)) return
  throw new CopyError(`${name} changed since the earlier run copied it.`, {
    fix: `${ANEW}, with the servers stopped or frozen (passes serve --freeze) until it is whole`,
  })
}

async function digestOf(db: Knex, reading: Reading, onRows: (count: number) => void): Promise<RowsDigest> {
  const digest = new RowsDigest()
  for await (const texts of walk(db, reading)) {
    digest.add(texts)
    onRows(texts.length)
  }
  return digest
}

/** Rows that are held at once, and about how much of them: pictures are large. */
const MAX_ROWS = 5_000
const BYTES = 2_000_000

/** All rows of a table by its key, of which the next are read while some are worked on; at `pause` of them one page ends. */
async function* walk(db: Knex, { table, notation }: Reading, pause = 0): AsyncGenerator<string[]> {
  let size = 8
  let asked = 0
  const read = (after: RowKey | undefined) => {
    const limit = asked < pause ? Math.min(size, pause - asked) : size
    asked += limit
    const reading = readRows(db, table, { notation, after, limit }).then((page) => ({
      ...page,
      isLast: page.texts.length < limit,
    }))
    // Whoever waits for it is told; where nobody does any more, the work has failed already.
    reading.catch(() => undefined)
    return reading
  }
  for (let reading = read(undefined); ; ) {
    const { texts, last, isLast } = await reading
    if (texts.length > 0)
      size = Math.max(1, Math.min(MAX_ROWS, 2 * size, Math.floor((BYTES * texts.length) / sizeOf(texts))))
    if (!isLast) reading = read(last)
    if (texts.length > 0) yield texts
    if (isLast) return
  }
}

function sizeOf(texts: string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}
