import type { Knex } from 'knex'
import { SetupError } from '../../core/errors.ts'
import { requireWhole } from '../copy/target.ts'
import * as baseline from '../migrations/0001-baseline.ts'
import type { Database } from './database.ts'
import { findUnavailability } from './database-errors.ts'
import { isPostgres } from './dialect.ts'
import { settleRestored } from './positions.ts'
import { requireUsable } from './postgres/postgres-requirements.ts'

/** Migrations by name, in order. A released migration never changes. */
export type Migrations = Record<string, { up(db: Knex): Promise<void> }>

const migrations: Migrations = { '0001-baseline': baseline }

/** The first migration of development builds, whose databases cannot be upgraded. */
const DEVELOPMENT_START = '0001-start'

/** The error for a database that a development build created: a phrase that follows the name of the database. */
export const DEVELOPMENT_BUILD = 'was created by a development build before version 0.3.0'

export function isOfDevelopmentBuild(applied: string[]): boolean {
  return applied.includes(DEVELOPMENT_START)
}

/** The maximum wait in milliseconds while another server migrates the same SQLite file. PostgreSQL has no limit. */
const MAX_WAIT_MS = 60_000

/** The advisory lock of migrations: a number that other programs on the same database are unlikely to use. */
export const MIGRATION_LOCK = 7_277_437

/**
 * Migrates the database to the current schema and returns the names of the migrations that ran. Uses one transaction,
 * so that servers that start together wait for each other, and a killed process leaves nothing half done. If `signal`
 * aborts, stops waiting for the other server.
 * @throws SetupError if the database does not meet the requirements, a copy into it is incomplete, or a development
 * build created it
 */
export async function migrate(
  { writer }: Database,
  { known = migrations, signal }: { known?: Migrations; signal?: AbortSignal | undefined } = {},
): Promise<string[]> {
  const end = isPostgres(writer) ? Number.POSITIVE_INFINITY : performance.now() + MAX_WAIT_MS
  for (;;) {
    signal?.throwIfAborted()
    try {
      return await writer.transaction((tx) => migrateIn(tx, known))
    } catch (error) {
      // Another server migrates: each attempt waits for its lock for at most BUSY_TIMEOUT_MS.
      if (findUnavailability(error) !== 'locked' || performance.now() > end) throw error
    }
  }
}

async function migrateIn(tx: Knex, known: Migrations): Promise<string[]> {
  if (isPostgres(tx)) {
    await tx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
    // Wait for tables without limit. Allow sequential scans, because a migration can change a whole table.
    await tx.raw('set local lock_timeout = 0; set local enable_seqscan = on')
  }
  await requireUsable(tx)
  await requireWhole(tx)
  await tx.raw('create table if not exists migrations (name text primary key)')
  const pending = await listPending(tx, known)
  for (const name of pending) {
    await known[name]!.up(tx)
    await tx('migrations').insert({ name })
  }
  await settleRestored(tx)
  return pending
}

/**
 * Returns the names of the migrations that the database lacks.
 * @throws SetupError if a development build created the database
 */
export async function pendingMigrations({ entry }: Database): Promise<string[]> {
  const isStarted = await entry.schema.hasTable('migrations')
  return isStarted ? listPending(entry, migrations) : Object.keys(migrations)
}

/** Returns the names of migrations that a newer version of the program ran on the database. */
export async function unknownMigrations(db: Knex): Promise<string[]> {
  const applied: string[] = await db('migrations').orderBy('name').pluck('name')
  return applied.filter((name) => !(name in migrations))
}

async function listPending(db: Knex, known: Migrations): Promise<string[]> {
  const applied: string[] = await db('migrations').pluck('name')
  if (isOfDevelopmentBuild(applied)) {
    throw new SetupError(`This database ${DEVELOPMENT_BUILD}.`, {
      fix: 'with the old build, run "passes export --handover"; then start this version on an empty database, and run "passes import FILE"',
    })
  }
  return Object.keys(known).filter((name) => !applied.includes(name))
}
