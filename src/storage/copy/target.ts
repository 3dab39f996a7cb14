import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import { isPostgres, isTaken, rowsOf } from '../db/dialect.ts'

/**
 * A database that a copy is made into. Until the copy is whole it has a table `copy_progress`, no index but those that keep
 * rows apart, and no trigger at work: nobody else may use it.
 */

const PROGRESS = 'copy_progress'

/** What to do where a copy cannot go on. */
export const ANEW = 'remove what was copied (the database, or FILE.copy) and begin anew'

/** The name of what is to be done at the end, among the tables. */
const ENDING = ''

/** Whether a copy into the database was begun and not ended. */
export function isHalfCopied(db: Knex): Promise<boolean> {
  return db.schema.hasTable(PROGRESS)
}

/** That no copy into the database was broken off. @throws SetupError */
export async function requireWhole(db: Knex): Promise<void> {
  if (!(await isHalfCopied(db))) return
  throw new SetupError('A copy into this database was begun and is not whole.', {
    fix: `run passes copy with the same --from and --to again, which goes on where it was, or ${ANEW}`,
  })
}

/** Whether a PostgreSQL database holds any table. */
export async function holdsTables(db: Knex): Promise<boolean> {
  return rowsOf(db, await db.raw('select from pg_tables where schemaname = current_schema() limit 1')).length > 0
}

/** Of these migrations make rows, which give way. */
const FILLED = ['sequences']

/** What holds rows already, of some tables. */
export async function findFilled(db: Knex, tables: string[]): Promise<string | undefined> {
  for (const name of tables) if (!FILLED.includes(name) && (await db(name).first(db.raw('1')))) return name
  return undefined
}

/** Takes off what slows down the writing of rows into the tables, and notes how it is put on again. */
export async function prepareTarget(db: Knex, tables: string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const parts = isPostgres(tx) ? await partsOfPostgres(tx, tables) : await partsOfSqlite(tx)
    await tx.raw(`create table ${PROGRESS} (name text primary key, state text not null)`)
    for (const { off } of parts) if (off) await tx.raw(off)
    for (const name of FILLED) await tx(name).delete()
    const on = parts.map((part) => part.on)
    await tx(PROGRESS).insert({ name: ENDING, state: JSON.stringify(on) })
  })
}

/** How far a table is copied; undefined where nothing of it is. */
export async function findState(db: Knex, table: string): Promise<string | undefined> {
  return (await db(PROGRESS).where({ name: table }).first('state'))?.state
}

/**
 * Notes how far a table is copied, before its rows and in their transaction; false where another run has copied more of it than
 * was known here.
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

/** Makes the database whole: in one transaction, at whose end everybody may use it. */
export async function finishTarget(db: Knex): Promise<void> {
  await db.transaction(async (tx) => {
    const statements: string[] = JSON.parse((await findState(tx, ENDING))!)
    for (const statement of statements) await tx.raw(statement)
    if (!isPostgres(tx)) {
      const [orphan] = await tx.raw('pragma foreign_key_check')
      if (orphan) throw new Error(`A row of ${orphan.table} belongs to one of ${orphan.parent} that is not there`)
    }
    await tx.schema.dropTable(PROGRESS)
  })
  await db.raw(isPostgres(db) ? 'analyze' : 'pragma foreign_keys = on')
}

/** Something that is taken off, and put on at the end. */
interface Part {
  off?: string
  on: string
}

/** Of the given tables alone: others may stand in the same schema. */
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
  // What is told of the values of an index goes with it.
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
