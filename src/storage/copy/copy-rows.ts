import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import type { Database } from '../db/database.ts'
import { lockTables, readByKeys } from '../db/dialect.ts'
import { countRows } from '../db/repository.ts'
import {
  type Notation,
  notationFor,
  type RowKey,
  RowsDigest,
  readRows,
  type Table,
  tablesOf,
  writeRows,
} from './rows.ts'
import { findFilled, findState, finishTarget, isHalfCopied, prepareTarget, START_OVER, setState } from './target.ts'

/** The progress of a copy. Each row is read from the source, written to the target, and read back. */
export interface CopyProgress {
  step: 'copy' | 'check' | 'finish'
  rows: number
  /** The final value of `rows`. Each row counts twice: in the step `copy` and in the step `check`. */
  total: number
}

export interface CopiedTable {
  name: string
  rows: number
  /** The sum of the SHA-256 digests of the rows, in hexadecimal. Source and target have the same sum. */
  digest: string
}

export interface CopyOptions {
  onProgress?: (progress: CopyProgress) => void
}

class CopyError extends SetupError {
  override readonly name = 'CopyError'
}

/**
 * Copies a database of either kind into a database that is empty or holds the result of an interrupted run
 * (decisions/0021). The source is locked against writes until the copy ends. Reads are not affected. Every copied row
 * is read back from the target before the target is usable. A run can be interrupted at any time, and the next run
 * resumes it.
 * @throws CopyError
 */
export async function copyDatabase(from: Database, to: Database, options: CopyOptions = {}): Promise<CopiedTable[]> {
  const pairs = await pairsOf(from.reader, to.reader)
  const names = pairs.map(({ target }) => target.name)
  if (to.dialect === 'sqlite') await to.writer.raw('pragma foreign_keys = off')
  if (!(await isHalfCopied(to.writer))) {
    const filled = await findFilled(to.reader, names)
    if (filled !== undefined) {
      throw new CopyError(`The target database contains data (${filled}).`, {
        fix: 'use an empty database, or rename or remove the complete FILE.copy of an earlier run',
      })
    }
    await prepareTarget(to.writer, names)
  }
  return from.writer.transaction(async (held) => {
    await lockTables(held, names)
    await readByKeys(held)
    return copyTables(held, to, pairs, options)
  })
}

/** A table of the source and its counterpart in the target. */
interface Pair {
  table: Table
  target: Table
}

/** Returns the tables that exist in both databases. Other tables belong to other programs. */
async function pairsOf(source: Knex, target: Knex): Promise<Pair[]> {
  const tables = new Map((await tablesOf(source)).map((table) => [table.name, table]))
  const pairs = (await tablesOf(target)).flatMap((one) => {
    const table = tables.get(one.name)
    return table ? [{ table, target: one }] : []
  })
  for (const pair of pairs) {
    const [columns, others] = [pair.table, pair.target].map((table) => JSON.stringify(table.columns))
    if (columns === others) continue
    throw new CopyError(`The table ${pair.table.name} has different columns in the two databases.`, {
      fix: 'use an empty target database, in which this program creates the tables',
    })
  }
  return pairs
}

async function copyTables(
  source: Knex,
  to: Database,
  pairs: Pair[],
  { onProgress }: CopyOptions,
): Promise<CopiedTable[]> {
  const notation = notationFor(to.writer)
  let total = 0
  for (const { table } of pairs) total += 2 * (await countRows(source(table.name)))
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
      const message = `The rows of ${target.name} differ: ${found.count} in the copy, ${digest.count} in the source.`
      throw new CopyError(message, { fix: `${START_OVER}; if it happens again, report it` })
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
  for await (const texts of readPages(source, { table, notation }, done.count)) {
    const isNew = isDone()
    digest.add(texts)
    if (isNew) {
      const next = JSON.stringify(digest)
      await writer.transaction(async (tx) => {
        if (!(await setState(tx, table.name, { known: state, next }))) {
          throw new CopyError('Another run is copying to the same database.', { fix: 'wait until it ends' })
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

/** Throws if rows that an earlier run copied now differ in the source. */
function requireSame(digest: RowsDigest, done: RowsDigest, { name }: Table): void {
  if (digest.equals(done)) return
  throw new CopyError(`${name} changed since the earlier run copied it.`, {
    fix: `${START_OVER}, with the servers stopped or frozen ("passes serve --freeze") until it is complete`,
  })
}

async function digestOf(db: Knex, reading: Reading, onRows: (count: number) => void): Promise<RowsDigest> {
  const digest = new RowsDigest()
  for await (const texts of readPages(db, reading)) {
    digest.add(texts)
    onRows(texts.length)
  }
  return digest
}

/** The maximum number of rows in a page. Pages are held in memory. */
const MAX_ROWS = 5_000

/** The approximate maximum size of a page, in bytes: rows with images are large. */
const MAX_BYTES = 2_000_000

/**
 * Iterates over the rows of a table by key. Reads the next page while the caller processes the current one. A page ends
 * exactly after `pause` rows, so that a resumed copy inserts no row a second time.
 */
async function* readPages(db: Knex, { table, notation }: Reading, pause = 0): AsyncGenerator<string[]> {
  let size = 8
  let requested = 0
  const read = (after: RowKey | undefined) => {
    const limit = requested < pause ? Math.min(size, pause - requested) : size
    requested += limit
    const reading = readRows(db, table, { notation, after, limit }).then((page) => ({
      ...page,
      isLast: page.texts.length < limit,
    }))
    // Prevent an unhandled rejection. A caller that awaits this page gets the error; any other caller has already
    // failed.
    reading.catch(() => undefined)
    return reading
  }
  for (let reading = read(undefined); ; ) {
    const { texts, last, isLast } = await reading
    if (texts.length > 0)
      size = Math.max(1, Math.min(MAX_ROWS, 2 * size, Math.floor((MAX_BYTES * texts.length) / sizeOf(texts))))
    if (!isLast) reading = read(last)
    if (texts.length > 0) yield texts
    if (isLast) return
  }
}

function sizeOf(texts: string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}
