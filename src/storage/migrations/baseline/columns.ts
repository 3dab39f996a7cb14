import type { Knex } from 'knex'
import { MAX_KEY_BYTES, MAX_KEY_CHARACTERS } from '../../../core/rules/lists/cursor.ts'
import { inDialect } from '../../db/dialect.ts'

/** Column types that differ between the databases. Times are milliseconds since 1970, as bigint. */
export interface ColumnTypes {
  uuid: string
  /** Text that sorts by code point. */
  sortedText: string
  bytes: string
  /** A position (see `db/positions.ts`): the number of a transaction on PostgreSQL, a count on SQLite. */
  position: string
  /** The default value of a column with a position. */
  nextPosition: string
  /** A snapshot of the database: the transactions that were visible at one time. */
  visible: string
  /** The options of a table whose rows are counts. */
  ofCounts: string
}

export function columnTypes(db: Knex): ColumnTypes {
  return inDialect(db, {
    postgres: () => ({
      uuid: 'uuid',
      sortedText: 'text collate "C"',
      bytes: 'bytea',
      position: 'xid8',
      nextPosition: 'pg_current_xact_id()',
      visible: 'pg_snapshot',
      ofCounts: 'with (fillfactor = 50)',
    }),
    sqlite: () => ({
      uuid: 'text',
      sortedText: 'text',
      bytes: 'blob',
      position: 'bigint',
      nextPosition: 'null',
      visible: 'text',
      ofCounts: 'without rowid',
    }),
  })
}

/**
 * Adds columns for the identities under which passes are issued. Null means the workspace's or the server's identity.
 */
export function addIdentities(table: Knex.CreateTableBuilder): void {
  table.uuid('apple_identity_id')
  table.uuid('google_identity_id')
}

/** Sets storage parameters such as `fillfactor = 70` on PostgreSQL. */
export async function setStorage(db: Knex, table: string, settings: string): Promise<void> {
  await inDialect(db, { postgres: () => db.raw(`alter table ${table} set (${settings})`) })
}

/** Settings to vacuum a queue after 1 % of its rows changed, so that a search reads few dead rows. */
export const QUEUE_VACUUM =
  'autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_limit = 2000'

/** Creates a trigger of PostgreSQL, and the function of the same name that it runs. */
export async function createTrigger(db: Knex, name: string, when: string, body: string, setting = ''): Promise<void> {
  await db.raw(`create function ${name}() returns trigger language plpgsql ${setting} as $$ begin ${body} end $$`)
  await db.raw(`create trigger ${name} ${when} execute function ${name}()`)
}

/** Returns the condition that an update keeps all columns of a table except the given ones. */
export async function keepsAllExcept(db: Knex, table: string, columns: string[]): Promise<string> {
  const all = Object.keys(await db(table).columnInfo())
  return keeps(all.filter((column) => !columns.includes(column)))
}

/** Returns the condition that an update keeps the columns. */
export function keeps(columns: string[]): string {
  return columns.map((column) => `new.${column} is not distinct from old.${column}`).join(' and ')
}

/**
 * Rejects every deletion, and every update that does not meet the condition.
 * @param entries the subject and the verb of the error message
 */
export async function keepAppendOnly(db: Knex, table: string, isAllowed: string, entries: string): Promise<void> {
  const message = `${entries} append-only`
  await inDialect(db, {
    async postgres() {
      const reject = `raise exception '${message}';`
      await createTrigger(db, `${table}_no_delete`, `before delete or truncate on ${table} for each statement`, reject)
      const isRejected = `for each row when (not (${isAllowed}))`
      await createTrigger(db, `${table}_no_update`, `before update on ${table} ${isRejected}`, reject)
    },
    async sqlite() {
      const reject = `begin select raise(abort, '${message}'); end`
      await db.raw(`create trigger ${table}_no_delete before delete on ${table} ${reject}`)
      await db.raw(`create trigger ${table}_no_update before update on ${table} when not (${isAllowed}) ${reject}`)
    },
  })
}

/**
 * Indexes the beginning of a text, up to the length that a cursor can hold. Uses an expression on PostgreSQL. Uses a
 * virtual column `<column>_beginning` on SQLite, which finds the start of a page only in an index of columns.
 * @param where the condition of the rows in the index; all rows by default
 */
export async function addSortedPrefix(db: Knex, table: string, column: string, where?: string): Promise<void> {
  const isWhole = `octet_length(${column}) <= ${MAX_KEY_BYTES}`
  const prefix = `case when ${isWhole} then ${column} else substr(${column}, 1, ${MAX_KEY_CHARACTERS}) end`
  const index = `${table}_by_${column}`
  const condition = where ? ` where ${where}` : ''
  const create = (indexed: string) =>
    db.raw(`create index ${index} on ${table} (workspace_id, ${indexed}, id)${condition}`)
  await inDialect(db, {
    postgres: () => create(`(${prefix})`),
    async sqlite() {
      await db.raw(`alter table ${table} add column ${column}_beginning text generated always as (${prefix}) virtual`)
      await create(`${column}_beginning`)
    },
  })
}
