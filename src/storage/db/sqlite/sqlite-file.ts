import { existsSync, renameSync } from 'node:fs'
import knex, { type Knex } from 'knex'
import { openDatabase } from '../database.ts'
import { DEVELOPMENT_BUILD, isOfDevelopmentBuild, unknownMigrations } from '../migrate.ts'
import { DAMAGE_SUFFIX, isDamaged, sqliteClient } from './sqlite-client.ts'

/** Returns the maximum size of a copy of the database, in bytes. */
export function sizeOf(file: string): Promise<number> {
  return withFile(file, async (db) => {
    const [{ page_count: pages }] = await db.raw('PRAGMA page_count')
    const [{ page_size: bytes }] = await db.raw('PRAGMA page_size')
    return pages * bytes
  })
}

/**
 * Writes a consistent copy of a database that is in use. The target must be an empty file. VACUUM INTO reads in a
 * single transaction, which blocks no other process. SQLite's backup API copies page by page and restarts whenever
 * another process writes, so it might never finish under load. The copy is compact and contains no deleted data.
 */
export function copyInto(file: string, target: string): Promise<void> {
  return withFile(file, async (db) => {
    await db.raw('VACUUM INTO ?', [target])
  })
}

/**
 * Returns why a file is not a usable database of this program, as a phrase that follows the name of the file;
 * `undefined` if it is usable.
 */
export async function findFault(file: string): Promise<string | undefined> {
  try {
    return await withFile(file, async (db) => {
      const report: { integrity_check: string }[] = await db.raw('PRAGMA integrity_check(10)')
      const [first] = report
      if (first?.integrity_check !== 'ok') return `is damaged: ${first?.integrity_check ?? 'it cannot be checked'}`
      if (!(await isOurs(db))) return 'contains no database of passes'
      const unknown = await unknownMigrations(db)
      if (unknown.length === 0) return undefined
      if (isOfDevelopmentBuild(unknown)) return DEVELOPMENT_BUILD
      return `was migrated by a newer version, with unknown migrations: ${unknown.join(', ')}`
    })
  } catch (error) {
    if (isDamaged(error)) return 'is not a SQLite database, or is damaged'
    throw error
  }
}

/**
 * Whether the database contains the tables of this program. Also checks a column and a row, because another program can
 * also have a table `migrations`.
 */
async function isOurs(db: Knex): Promise<boolean> {
  for (const table of ['migrations', 'workspaces']) if (!(await db.schema.hasTable(table))) return false
  return (await db.schema.hasColumn('migrations', 'name')) && (await db('migrations').first('name')) !== undefined
}

/**
 * Closes the write-ahead log of a database, so that the database is a single file that can be moved.
 * @returns false if another process has the database open
 */
export async function settle(file: string): Promise<boolean> {
  try {
    return await withFile(file, async (db) => {
      await db.raw('PRAGMA busy_timeout = 0')
      // SQLite ends the write-ahead log only if no other process has the database open.
      const [{ journal_mode: mode }] = await db.raw('PRAGMA journal_mode = DELETE')
      return mode === 'delete'
    })
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === 'SQLITE_BUSY' || code === 'SQLITE_LOCKED') return false
    if (isDamaged(error)) return true
    throw error
  }
}

/** Whether a file contains data that would be lost if the file was replaced. */
export async function holdsData(file: string): Promise<boolean> {
  try {
    return await withFile(file, async (db) => {
      if (!(await db.schema.hasTable('workspaces'))) return (await db('sqlite_master').first('name')) !== undefined
      return (await db('workspaces').first('id')) !== undefined
    })
  } catch (error) {
    if (isDamaged(error)) return true
    throw error
  }
}

/**
 * Skips a range of update tags after a restore. Phones remember the last tag that they received, and get only changes
 * with higher tags. Without the skip, the restored server would reuse tags that phones received before the restore, and
 * these phones would miss the changes with these tags.
 */
export async function skipWalletTags(file: string): Promise<void> {
  const database = openDatabase(`sqlite:${file}`)
  try {
    await database.writer('sequences').where({ name: 'update-tag' }).increment('value', SKIPPED_TAGS)
  } finally {
    await database.close()
  }
}

/**
 * The number of tags to skip: more than are assigned between a backup and its restore, and few enough for thousands of
 * restores.
 */
const SKIPPED_TAGS = 1_000_000_000

/** The suffixes of the files that SQLite and the server keep next to a database. */
export const LOG_SUFFIXES = ['-wal', '-shm', '-journal', DAMAGE_SUFFIX]

/**
 * Moves the log files that a crashed process left next to a database. SQLite would apply them to a restored file with
 * the same name.
 */
export function moveLogs(file: string, aside: string): void {
  for (const suffix of LOG_SUFFIXES) {
    if (existsSync(`${file}${suffix}`)) renameSync(`${file}${suffix}`, `${aside}${suffix}`)
  }
}

async function withFile<T>(filename: string, work: (db: Knex) => Promise<T>): Promise<T> {
  const db = knex({
    client: sqliteClient(),
    connection: { filename },
    useNullAsDefault: true,
    pool: { min: 0, max: 1 },
    log: { warn: () => undefined, error: () => undefined },
  })
  try {
    return await work(db)
  } finally {
    await db.destroy()
  }
}
