import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import { isPostgres, rowsOf } from '../db/dialect.ts'

/**
 * A database that a copy is made into. Until the copy is whole it has a table `copy_progress`, no index but those that keep
 * rows apart, and no trigger at work: nobody else may use it.
 */

const PROGRESS = 'copy_progress'

/** The name of what is to be done at the end, among the tables. */
const ENDING = ''

/** Whether a copy into the database was begun and not ended. */
export function isHalfCopied(db: Knex): Promise<boolean> {
  return db.schema.hasTable(PROGRESS)
}

/** @throws SetupError where a copy into the database is not ended */
export async function requireWhole(db: Knex): Promise<void> {
  if (!(await isHalfCopied(db))) return
  throw new SetupError('A copy into this database was begun and is not whole.', {
    fix: 'run passes copy with the same --from and --to again, which goes on where it was, or drop the database',
  })
}

/** Takes off what slows down the writing of rows, and notes how it is put on again; the few rows of migrations give way, too. */
export async function prepareTarget(db: Knex, tables: string[]): Promise<void> {
  await db.transaction(async (tx) => {
    const parts = isPostgres(tx) ? await partsOfPostgres(tx) : await partsOfSqlite(tx)
    await tx.raw(`create table ${PROGRESS} (name text primary key, state text not null)`)
    for (const { off } of parts) if (off) await tx.raw(off)
    for (const name of tables) await tx(name).delete()
    const on = parts.map((part) => part.on)
    await tx(PROGRESS).insert({ name: ENDING, state: JSON.stringify(on) })
  })
}

/** How far a table is copied; undefined where nothing of it is. */
export async function findState(db: Knex, table: string): Promise<string | undefined> {
  return (await db(PROGRESS).where({ name: table }).first('state'))?.state
}

/** Notes how far a table is copied, in the transaction of its rows. */
export async function setState(tx: Knex, table: string, state: string): Promise<void> {
  await tx(PROGRESS).insert({ name: table, state }).onConflict('name').merge()
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

async function partsOfPostgres(db: Knex): Promise<Part[]> {
  const ask = async (sql: string) => rowsOf<Required<Part>>(db, await db.raw(sql))
  const ofSchema = 'current_schema()::regnamespace'
  return [
    ...(await ask(`select format('alter table %s disable trigger user', tgrelid::regclass) as off,
        format('alter table %s enable trigger user', tgrelid::regclass) as on
        from pg_trigger join pg_class on pg_class.oid = tgrelid
        where relnamespace = ${ofSchema} and not tgisinternal group by tgrelid`)),
    ...(await ask(`select format('drop index %I', indexname) as off, indexdef as on from pg_indexes
        where schemaname = current_schema()
          and indexname not in (select conname from pg_constraint where connamespace = ${ofSchema})`)),
    ...(await ask(`select format('alter table %s drop constraint %I', conrelid::regclass, conname) as off,
        format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as on
        from pg_constraint where connamespace = ${ofSchema} and contype = 'f'`)),
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
