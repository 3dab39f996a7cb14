import { requireWhole } from '../../../storage/copy/target.ts'
import { type Database, sqliteFile } from '../../../storage/db/database.ts'
import { pendingMigrations } from '../../../storage/db/migrate.ts'
import { requireUsable } from '../../../storage/db/postgres/postgres-requirements.ts'
import type { CountDifference } from '../../../storage/operations/counters.ts'
import { HOUR_MS } from '../../../storage/operations/counters.ts'
import {
  assertReadable,
  assertWritable,
  findClockSkew,
  findDamage,
  findPoolMode,
} from '../../../storage/operations/overview.ts'
import { createStore } from '../../../storage/store.ts'
import { missingDatabase, onDatabase } from '../../boot/database-error.ts'
import type { Config } from '../../config.ts'
import { WARN_SKEW_SECONDS } from '../../metrics/database-watch.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

export interface ClockSkew {
  source: string
  /** The number of seconds by which this machine is ahead of the other clock. */
  seconds: number
}

export interface DatabaseOptions {
  config: Pick<Config, 'databaseUrl'>
  database: Database | undefined
  clock: () => Date
  /** The skew of the HTTP server behind the public URL, if it responded. */
  httpSkew: ClockSkew | undefined
  canRecount?: boolean
}

const MAX_NAMED = 5

/** `isCurrent` shows whether later checks can query the database. */
export async function checkDatabase(options: DatabaseOptions): Promise<{ checks: Check[]; isCurrent: boolean }> {
  const { config, database, canRecount = false } = options
  let isReadable = false
  let isCurrent = false
  const ofConnection = await examine('Database', {
    Reachable: {
      fix: 'start the database, or correct --database (PASSES_DATABASE_URL)',
      async check() {
        if (!database) throw missingDatabase(config.databaseUrl)
        await onDatabase(config.databaseUrl, () => assertReadable(database))
        isReadable = true
        if (database.dialect === 'sqlite') return passed(`SQLite, ${sqliteFile(config.databaseUrl)}`)
        const poolMode = await findPoolMode(database)
        return passed(poolMode ? `PostgreSQL, through a pooler in ${poolMode} mode` : 'PostgreSQL')
      },
    },
  })
  const ofContents = await examine<Database>(
    'Database',
    {
      Requirements: {
        fix: 'correct --database (PASSES_DATABASE_URL)',
        async check(readable) {
          if (readable.dialect === 'sqlite') return skipped('SQLite has no requirements')
          await onDatabase(config.databaseUrl, () => readable.reader.transaction(requireUsable))
          return passed('encoding, privileges, and pg_trgm')
        },
      },
      Migrations: {
        fix: 'passes migrate',
        async check(readable) {
          await requireWhole(readable.reader)
          const pending = await pendingMigrations(readable)
          isCurrent = pending.length === 0
          if (isCurrent) return passed('current')
          return failed(`${pending.length} pending: ${pending.join(', ')}`)
        },
      },
      Writable: {
        fix: 'check the free space, and that this user can write to the file and its folder',
        async check(readable) {
          if (!isCurrent) return skipped('the database is incomplete or lacks migrations')
          await onDatabase(config.databaseUrl, () => assertWritable(readable))
          return passed('a row was committed and deleted')
        },
      },
      Integrity: {
        fix: 'restore the last backup',
        async check(readable) {
          const damage = await findDamage(readable)
          if (!damage) return skipped('PostgreSQL checks its own pages')
          if (damage.length > 0) return failed(damage.join('; '))
          return passed('quick_check found no damage')
        },
      },
      ...(canRecount && { Counts: { fix: 'run "passes doctor --recount" again', check: recount } }),
    },
    () => (database && isReadable ? database : 'the database cannot be read'),
  )
  const ofClock = await examine('Database', {
    Clock: {
      fix: 'set the clock by NTP, as timedatectl set-ntp true does',
      check: async () => compareClocks((await databaseSkew(options, isReadable)) ?? options.httpSkew),
    },
  })
  return { checks: [...ofConnection, ...ofContents, ...ofClock], isCurrent }
}

async function recount(database: Database): Promise<Finding> {
  const store = createStore(database)
  const differences: CountDifference[] = await store.counts.listDifferences()
  if (differences.length > 0) await store.transaction((tx) => tx.counts.recount())
  for (const { workspaceId, id } of await store.projects.listOfAll()) {
    const ofScans = await store.transaction((tx) => tx.figures.recountScans(workspaceId, id))
    differences.push(
      ...ofScans.map(({ hour, figure, counted, expected }) => ({
        workspaceId,
        counter: 'figures',
        part: `${figure} of project ${id} in the hour of ${new Date(hour * HOUR_MS).toISOString()}`,
        counted,
        expected,
      })),
    )
  }
  if (differences.length === 0) return passed('all correct')
  const named = differences.slice(0, MAX_NAMED).map(({ workspaceId, counter, part, counted, expected }) => {
    return `${counter} of workspace ${workspaceId} (${part}): ${counted}, now ${expected}`
  })
  const others = differences.length > MAX_NAMED ? [`and ${differences.length - MAX_NAMED} more`] : []
  return passed(`corrected ${differences.length}: ${[...named, ...others].join('; ')}`)
}

async function databaseSkew({ database, clock }: DatabaseOptions, isReadable: boolean): Promise<ClockSkew | undefined> {
  if (!database || !isReadable) return undefined
  const seconds = await findClockSkew(database, clock)
  return seconds === undefined ? undefined : { source: 'PostgreSQL', seconds }
}

function compareClocks(skew: ClockSkew | undefined): Finding {
  if (!skew) return skipped('no clock to compare with: neither PostgreSQL nor a server responds')
  const { source, seconds } = skew
  const difference = `${Math.abs(seconds).toFixed(1)} s ${seconds < 0 ? 'behind' : 'ahead of'} ${source}`
  if (Math.abs(seconds) <= WARN_SKEW_SECONDS) return passed(difference)
  return failed(`This machine is ${difference}.`)
}
