import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import { isTaken } from '../db/database-errors.ts'
import { inDialect, rowsOf } from '../db/dialect.ts'

/**
 * The table that marks the target of an incomplete copy. Until the copy is complete, the target has only its unique
 * indexes and no active trigger. `requireWhole` rejects such a database.
 */
const PROGRESS = 'copy_progress'

export const START_OVER = 'remove the copied data (the database, or FILE.copy) and start over'

/** The name of the row with the statements that complete the copy. Every other row is named after a table. */
const ENDING = ''

export function isHalfCopied(db: Knex): Promise<boolean> {
  return db.schema.hasTable(PROGRESS)
}

/** @throws SetupError if a copy into the database is incomplete */
export async function requireWhole(db: Knex): Promise<void> {
  if (!(await isHalfCopied(db))) return
  throw new SetupError('A copy to this database was started and is not complete.', {
    fix: `run "passes copy" with the same --from and --to again to resume, or ${START_OVER}`,
  })
}

/** Tables in which a migration inserts rows. The copy replaces these rows. */
const FILLED = ['sequences']

export async function findFilled(db: Knex, tables: string[]): Promise<string | undefined> {
  for (const name of tables) if (!FILLED.includes(name) && (await db(name).first(db.raw('1')))) return name
  return undefined
}

/** Removes indexes and triggers, which slow down inserts, and saves the statements that restore them. */
export async function prepareTarget(db: Knex, tables: string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const parts = await inDialect(tx, { postgres: () => partsOfPostgres(tx, tables), sqlite: partsOfSqlite })
    await tx.raw(`create table ${PROGRESS} (name text primary key, state text not null)`)
    for (const { off } of parts) if (off) await tx.raw(off)
    for (const name of FILLED) await tx(name).delete()
    const on = parts.map((part) => part.on)
    await tx(PROGRESS).insert({ name: ENDING, state: JSON.stringify(on) })
  })
}

/** Returns the saved progress of a table; `undefined` if none of its rows are copied. */
export async function findState(db: Knex, table: string): Promise<string | undefined> {
  return (await db(PROGRESS).where({ name: table }).first('state'))?.state
}

/**
 * Replaces the saved progress `known` of a table by `next`. Call it in the transaction that writes the rows of the
 * table, before the rows. Returns false if another run has changed the progress.
 */
export async function setState(
  tx: Knex,
  table: string,
  { known, next }: { known: string | undefined; next: string },
): Promise<boolean> {
  if (known !== undefined) return (await tx(PROGRESS).where({ name: table, state: known }).update({ state: next })) > 0
  try {
    await tx(PROGRESS).insert({ name: table, state: next })
    return true
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
}

/** Completes the database in one transaction, after which it is usable. */
export async function finishTarget(db: Knex): Promise<void> {
  await db.transaction(async (tx) => {
    const statements: string[] = JSON.parse((await findState(tx, ENDING))!)
    for (const statement of statements) await tx.raw(statement)
    await inDialect(tx, { sqlite: checkForeignKeys })
    await tx.schema.dropTable(PROGRESS)
  })
  await db.raw(inDialect(db, { postgres: () => 'analyze', sqlite: () => 'pragma foreign_keys = on' }))
}

async function checkForeignKeys(tx: Knex): Promise<void> {
  const [orphan] = await tx.raw('pragma foreign_key_check')
  if (orphan) throw new Error(`A row of ${orphan.table} refers to a missing row of ${orphan.parent}`)
}

/**
 * A part of a schema, such as an index, a trigger, a foreign key, or statistics: the statements that remove or disable
 * it, if needed, and restore it.
 */
interface Part {
  off?: string
  on: string
}

/** Returns the parts of the given tables only, because the schema can contain tables of other programs. */
async function partsOfPostgres(db: Knex, tables: string[]): Promise<Part[]> {
  const ask = async (sql: string) => rowsOf<Required<Part>>(db, await db.raw(sql, [tables]))
  const isOurs = (table: string) => `${table} in (select oid from pg_class
    where relnamespace = current_schema()::regnamespace and relname = any(?::text[]))`
  return [
    ...(await ask(`select format('alter table %s disable trigger user', tgrelid::regclass) as off,
        format('alter table %s enable trigger user', tgrelid::regclass) as on
        from pg_trigger where ${isOurs('tgrelid')} and not tgisinternal group by tgrelid`)),
    ...(await ask(`select format('drop index %s', indexrelid::regclass) as off, pg_get_indexdef(indexrelid) as on
        from pg_index where ${isOurs('indrelid')}
          and not exists (select from pg_constraint where conindid = indexrelid and contype <> 'f')`)),
    ...(await ask(`select format('alter table %s drop constraint %I', conrelid::regclass, conname) as off,
        format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as on
        from pg_constraint where ${isOurs('conrelid')} and contype = 'f'`)),
  ]
}

async function partsOfSqlite(db: Knex): Promise<Part[]> {
  const ask = async (sql: string): Promise<Required<Part>[]> => db.raw(sql)
  const parts = (type: string) =>
    ask(`select 'drop ${type} "' || name || '"' as "off", sql as "on" from sqlite_schema
      where type = '${type}' and sql is not null`)
  // Restore the statistics, too, because dropping an index also drops them.
  const statistics =
    await ask(`select '' as "off", 'insert into sqlite_stat1 (tbl, idx, stat) values (' || quote(tbl) || ', '
    || quote(idx) || ', ' || quote(stat) || ')' as "on" from sqlite_stat1`)
  return [
    ...(await parts('trigger')),
    ...(await parts('index')),
    { on: `insert into pass_search (pass_search) values ('rebuild')` },
    { on: 'delete from sqlite_stat1' },
    ...statistics,
    { on: 'analyze sqlite_schema' },
  ]
}
