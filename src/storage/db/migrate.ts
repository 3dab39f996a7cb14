import type { Knex } from 'knex'
import { requireWhole } from '../copy/target.ts'
import * as start from '../migrations/0001-start.ts'
import * as phones from '../migrations/0002-phones.ts'
import * as lanes from '../migrations/0003-lanes.ts'
import * as notifications from '../migrations/0004-notifications.ts'
import * as scans from '../migrations/0005-scans.ts'
import * as webhooks from '../migrations/0006-webhooks.ts'
import * as offline from '../migrations/0007-offline.ts'
import * as statistics from '../migrations/0008-statistics.ts'
import * as failedJobs from '../migrations/0010-failed-jobs.ts'
import * as fleet from '../migrations/0011-fleet.ts'
import * as audit from '../migrations/0012-audit.ts'
import * as erasure from '../migrations/0013-erasure.ts'
import * as detaching from '../migrations/0014-detaching.ts'
import * as holders from '../migrations/0015-holders.ts'
import * as deliveryKeys from '../migrations/0016-delivery-keys.ts'
import * as turns from '../migrations/0017-turns.ts'
import * as imageFiles from '../migrations/0018-image-files.ts'
import * as limits from '../migrations/0019-limits.ts'
import * as endings from '../migrations/0020-endings.ts'
import * as textKeys from '../migrations/0021-text-keys.ts'
import * as scanDates from '../migrations/0022-scan-dates.ts'
import * as eventFanOut from '../migrations/0023-event-fan-out.ts'
import * as rejections from '../migrations/0024-refusals.ts'
import * as googleClasses from '../migrations/0025-google-classes.ts'
import * as activations from '../migrations/0026-activations.ts'
import * as eventOrder from '../migrations/0027-event-order.ts'
import * as oneAtATime from '../migrations/0028-one-at-a-time.ts'
import * as templateKeys from '../migrations/0029-template-keys.ts'
import * as counts from '../migrations/0030-counts.ts'
import * as queueVacuum from '../migrations/0034-queue-vacuum.ts'
import * as fewerIndexes from '../migrations/0039-fewer-indexes.ts'
import * as formerHolders from '../migrations/0041-former-holders.ts'
import * as groups from '../migrations/0042-groups.ts'
import * as messageLanguages from '../migrations/0045-message-languages.ts'
import * as passImages from '../migrations/0047-pass-images.ts'
import * as tokensOfProjects from '../migrations/0048-tokens-of-projects.ts'
import * as doors from '../migrations/0049-doors.ts'
import * as listChanges from '../migrations/0051-list-changes.ts'
import * as erasedPasses from '../migrations/0052-erased-passes.ts'
import * as heldPasses from '../migrations/0053-held-passes.ts'
import * as jobsOfWorkspaces from '../migrations/0054-jobs-of-workspaces.ts'
import * as moves from '../migrations/0056-moves.ts'
import * as scansByGate from '../migrations/0057-scans-by-gate.ts'
import * as deviceLogs from '../migrations/0060-device-logs.ts'
import * as identities from '../migrations/0061-identities.ts'
import * as nudges from '../migrations/0062-nudges.ts'
import * as googleDigests from '../migrations/0063-google-digests.ts'
import * as evidence from '../migrations/0064-evidence.ts'
import * as retiredGrants from '../migrations/0065-retired-grants.ts'
import * as figures from '../migrations/0067-figures.ts'
import * as takeOver from '../migrations/0072-take-over.ts'
import * as lapsesAlone from '../migrations/0075-lapses-alone.ts'
import * as classMessages from '../migrations/0082-class-messages.ts'
import * as deviceTags from '../migrations/0083-device-tags.ts'
import { BUSY_TIMEOUT_MS, type Database } from './database.ts'
import { isPostgres, settleRestored } from './dialect.ts'

interface Migration {
  up(db: Knex): Promise<void>
}

/** In order; one that was released never changes. */
const migrations: Record<string, Migration> = {
  '0001-start': start,
  '0002-phones': phones,
  '0003-lanes': lanes,
  '0004-notifications': notifications,
  '0005-scans': scans,
  '0006-webhooks': webhooks,
  '0007-offline': offline,
  '0008-statistics': statistics,
  '0010-failed-jobs': failedJobs,
  '0011-fleet': fleet,
  '0012-audit': audit,
  '0013-erasure': erasure,
  '0014-detaching': detaching,
  '0015-holders': holders,
  '0016-delivery-keys': deliveryKeys,
  '0017-turns': turns,
  '0018-image-files': imageFiles,
  '0019-limits': limits,
  '0020-endings': endings,
  '0021-text-keys': textKeys,
  '0022-scan-dates': scanDates,
  '0023-event-fan-out': eventFanOut,
  '0024-refusals': rejections,
  '0025-google-classes': googleClasses,
  '0026-activations': activations,
  '0027-event-order': eventOrder,
  '0028-one-at-a-time': oneAtATime,
  '0029-template-keys': templateKeys,
  '0030-counts': counts,
  '0034-queue-vacuum': queueVacuum,
  '0039-fewer-indexes': fewerIndexes,
  '0041-former-holders': formerHolders,
  '0042-groups': groups,
  '0045-message-languages': messageLanguages,
  '0047-pass-images': passImages,
  '0048-tokens-of-projects': tokensOfProjects,
  '0049-doors': doors,
  '0051-list-changes': listChanges,
  '0052-erased-passes': erasedPasses,
  '0053-held-passes': heldPasses,
  '0054-jobs-of-workspaces': jobsOfWorkspaces,
  '0056-moves': moves,
  '0057-scans-by-gate': scansByGate,
  '0060-device-logs': deviceLogs,
  '0061-identities': identities,
  '0062-nudges': nudges,
  '0063-google-digests': googleDigests,
  '0064-evidence': evidence,
  '0065-retired-grants': retiredGrants,
  '0067-figures': figures,
  '0072-take-over': takeOver,
  '0075-lapses-alone': lapsesAlone,
  '0082-class-messages': classMessages,
  '0083-device-tags': deviceTags,
}

/** So long another may migrate the same SQLite file; on PostgreSQL as long as it takes. */
const PATIENCE_MS = 60_000

/** Any number that no other program uses for an advisory lock on the same database. */
const MIGRATION_LOCK = 7_277_437

/**
 * Brings the database up to date and returns the names of the migrations that ran. Everything happens in one
 * transaction, so that servers that start together wait for each other and a killed one leaves nothing half done (the
 * lock table of knex's own migrator would stay locked).
 * @throws SetupError where a copy into the database is not ended
 */
export async function migrate({ writer }: Database): Promise<string[]> {
  if (!isPostgres(writer)) await writer.raw(`PRAGMA busy_timeout = ${PATIENCE_MS}`)
  try {
    return await writer.transaction(migrateIn)
  } finally {
    if (!isPostgres(writer)) await writer.raw(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

async function migrateIn(tx: Knex): Promise<string[]> {
  if (isPostgres(tx)) {
    // However long the migration of another takes; and what changes a whole table reads it from end to end.
    await tx.raw('set local lock_timeout = 0; set local enable_seqscan = on')
    await tx.raw('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
  }
  await requireWhole(tx)
  await tx.raw('create table if not exists migrations (name text primary key)')
  const pending = await missing(tx)
  for (const name of pending) {
    await migrations[name]!.up(tx)
    await tx('migrations').insert({ name })
  }
  await settleRestored(tx)
  return pending
}

/** Names of the migrations that the database still lacks. */
export async function pendingMigrations({ entry }: Database): Promise<string[]> {
  const started = await entry.schema.hasTable('migrations')
  return started ? missing(entry) : Object.keys(migrations)
}

/** Names of migrations that ran on the database and are not known here: a newer program made it. */
export async function unknownMigrations(db: Knex): Promise<string[]> {
  const applied: string[] = await db('migrations').orderBy('name').pluck('name')
  return applied.filter((name) => !(name in migrations))
}

async function missing(db: Knex): Promise<string[]> {
  const applied = new Set<string>(await db('migrations').pluck('name'))
  return Object.keys(migrations).filter((name) => !applied.has(name))
}
