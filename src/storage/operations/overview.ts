import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import type { Connections, Database, Dialect } from '../db/database.ts'
import { isPoolerError } from '../db/database-errors.ts'
import { toDate } from '../db/dialect.ts'
import { isPooled } from '../db/postgres/postgres-client.ts'
import { field, listRecords, mapping, type RecordOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'
import { isQuarantined } from '../jobs/backlog.ts'
import { isSamePlace, type JobKind, type QueuePlace, queuePlaces } from '../jobs/job-kinds.ts'
import { Doors } from '../workspaces/doors-repository.ts'
import { Usage, type UsageOverview } from '../workspaces/limits-repository.ts'
import type { RejectedKind } from './rejections.ts'

export interface QueueOverview extends QueuePlace {
  /** The number of waiting jobs whose scheduled time has come. */
  due: number
  later: number
  running: number
  oldestDueAt: Date | null
}

const FAILING = mapping({
  id: field.text,
  workspaceName: field.text,
  status: field.plain<'ENABLED' | 'DISABLED'>(),
  failingSince: field.time,
})

/** The state of the whole installation in numbers, across all workspaces. */
export interface Overview {
  /** The time of the overview. Jobs and deliveries with a later time count as `later`, others as `due`. */
  at: Date
  /** The state of all queues and priorities, including empty queues. */
  queues: QueueOverview[]
  discarded: { kind: JobKind; count: number }[]
  quarantined: { kind: JobKind; count: number }[]
  webhooks: { sound: number; failing: number; disabled: number }
  deliveries: { due: number; later: number }
  usage: UsageOverview[]
  /** The number of doors that made a request within ONLINE_MS, and the number of scans that doors have not uploaded. */
  doors: { online: number; pendingScans: number }
  /**
   * The number of template versions, classes, and passes that a platform rejects permanently, each up to MAX_COUNTED.
   */
  rejected: Record<RejectedKind, number>
}

const MOVE = mapping({
  workspaceId: field.text,
  workspaceName: field.text,
  id: field.text,
  url: field.text,
  startedAt: field.time,
})

/** The maximum number of rejections to count. Counting a million rows would delay a scrape of the metrics. */
const MAX_COUNTED = 10_000

/**
 * The time, in milliseconds, for which a door counts as online after its last request. Doors make a request every few
 * seconds.
 */
const ONLINE_MS = 300_000

/** A template version that Google rejects, or that has a class that Google rejects. `message` is from Google. */
export interface RejectedVersion {
  workspaceName: string
  name: string
  version: number
  message: string
  /** A pass of the rejected class; null if the whole version is rejected or no pass is left. */
  passId: string | null
  kind: 'version' | 'class'
}

/** The data for monitoring. Most of it is counted with indexes, because monitoring reads it every few seconds. */
export class Overviews extends Repository {
  async read(at: Date): Promise<Overview> {
    // Read sequentially. Otherwise, monitoring would take connections from requests and jobs.
    const waiting = await this.waiting(at)
    const running = await this.running()
    const { discarded, quarantined } = await this.countFailed()
    const webhooks = await this.webhooks()
    const deliveries = await this.deliveries(at)
    const usage = await new Usage(this.connected).overview(at)
    const states = queuePlaces.map((place) => ({
      ...place,
      due: 0,
      later: 0,
      oldestDueAt: null,
      ...waiting.find((one) => isSamePlace(one, place)),
      running: running.find((one) => isSamePlace(one, place))?.jobs ?? 0,
    }))
    const doors = await new Doors(this.connected).overview(new Date(at.getTime() - ONLINE_MS), at)
    const rejected = await this.rejected()
    return { at, queues: states, discarded, quarantined, webhooks, deliveries, usage, doors, rejected }
  }

  /** Returns the template versions that a platform rejects, or that have a rejected class, latest rejection first. */
  async listRejectedVersions(limit: number): Promise<RejectedVersion[]> {
    const member = this.db('passes').whereRaw('passes.google_class_id = google_classes.id').limit(1).select('id')
    const rows = await this.db('rejections')
      .leftJoin('google_classes', 'google_classes.id', 'rejections.subject')
      .joinRaw(
        'join template_versions on template_versions.id = coalesce(google_classes.template_version_id, rejections.subject)',
      )
      .join('templates', 'templates.id', 'template_versions.template_id')
      .join('workspaces', 'workspaces.id', 'rejections.workspace_id')
      .whereIn('kind', ['version', 'class'])
      .orderBy('rejections.at', 'desc')
      .limit(limit)
      .select('kind', 'templates.name', 'template_versions.version', 'rejections.message')
      .select({ workspaceName: 'workspaces.name', passId: member })
    return rows
  }

  private async rejected(): Promise<Overview['rejected']> {
    const countOf = async (kind: RejectedKind) => {
      const some = this.db('rejections').where({ kind }).limit(MAX_COUNTED).select('kind')
      return countRows(this.db.from(some.as('some')))
    }
    return { version: await countOf('version'), class: await countOf('class'), pass: await countOf('pass') }
  }

  /** Returns the failing endpoints, longest failure first. */
  async listFailingWebhooks(limit: number): Promise<RecordOf<typeof FAILING>[]> {
    const failing = this.db('webhooks')
      .join('workspaces', 'workspaces.id', 'webhooks.workspace_id')
      .whereNotNull('webhooks.failing_since')
      .orderBy('webhooks.failing_since')
      .limit(limit)
      .select(FAILING.from('webhooks', { workspace_name: 'workspaces.name' }))
    return listRecords(failing, FAILING.read)
  }

  /** Returns the moves in progress, oldest first. */
  async listMoves(limit: number): Promise<RecordOf<typeof MOVE>[]> {
    const moves = this.db('moves')
      .join('workspaces', 'workspaces.id', 'moves.workspace_id')
      .orderBy('moves.started_at')
      .limit(limit)
      .select(MOVE.from('moves', { workspace_name: 'workspaces.name' }))
    return listRecords(moves, MOVE.read)
  }

  private async waiting(at: Date): Promise<Omit<QueueOverview, 'running'>[]> {
    const rows: (QueuePlace & { jobs: number; due: number; oldest: number })[] = await this.db('jobs')
      .where({ claim_token: null, failed_at: null })
      // Repeat the condition of the partial index, which is true for every job. Otherwise, the planner would not use
      // the index.
      .whereRaw('created_at > 0')
      .groupBy('queue', 'priority')
      .select(
        'queue',
        'priority',
        this.db.raw('count(*) as jobs'),
        this.db.raw('sum(case when run_at <= ? then 1 else 0 end) as due', [at.getTime()]),
        this.db.raw('min(run_at) as oldest'),
      )
    return rows.map(({ jobs, due, oldest, ...place }) => ({
      ...place,
      due,
      later: jobs - due,
      oldestDueAt: oldest <= at.getTime() ? toDate(oldest) : null,
    }))
  }

  private async running(): Promise<(QueuePlace & { jobs: number })[]> {
    return this.db('jobs')
      .whereNotNull('claim_token')
      .groupBy('queue', 'priority')
      .select('queue', 'priority', this.db.raw('count(*) as jobs'))
  }

  private async countFailed(): Promise<Pick<Overview, 'discarded' | 'quarantined'>> {
    const rows: { kind: JobKind; jobs: number; quarantined: number }[] = await this.db('jobs')
      .whereNotNull('failed_at')
      .groupBy('kind')
      .select('kind', this.db.raw('count(*) as jobs'))
      .select(this.db.raw(`sum(case when ${isQuarantined} then 1 else 0 end) as quarantined`))
    const counts = (count: (row: (typeof rows)[number]) => number) =>
      rows.map((row) => ({ kind: row.kind, count: count(row) })).filter((row) => row.count > 0)
    return {
      discarded: counts(({ jobs, quarantined }) => jobs - quarantined),
      quarantined: counts(({ quarantined }) => quarantined),
    }
  }

  /** Counts all endpoints without an index, because their number is small. */
  private async webhooks(): Promise<Overview['webhooks']> {
    const rows: { status: string; webhooks: number; failing: number }[] = await this.db('webhooks')
      .groupBy('status')
      .select('status', this.db.raw('count(*) as webhooks'), this.db.raw('count(failing_since) as failing'))
    const enabled = rows.find(({ status }) => status === 'ENABLED')
    const disabled = rows.find(({ status }) => status === 'DISABLED')
    const failing = enabled?.failing ?? 0
    return { sound: (enabled?.webhooks ?? 0) - failing, failing, disabled: disabled?.webhooks ?? 0 }
  }

  private async deliveries(at: Date): Promise<Overview['deliveries']> {
    const row: { waiting: number; due: number | null } = await this.db('webhook_deliveries')
      .whereRaw(`status = 'PENDING'`)
      .first(
        this.db.raw('count(*) as waiting'),
        this.db.raw('sum(case when due_at <= ? then 1 else 0 end) as due', [at.getTime()]),
      )
    const due = row.due ?? 0
    return { due, later: row.waiting - due }
  }
}

export async function assertReadable({ reader }: Database): Promise<void> {
  await reader.raw('select 1')
  // Also read a table. Otherwise, SQLite would not open the file: `select 1` does not read from the file.
  await reader.schema.hasTable('migrations')
}

/** The number of rounds in which processes are compared to detect the mode of a pooler. */
const POOLER_ROUNDS = 5

/**
 * Returns the mode of the pooler in front of PostgreSQL; `undefined` without one. In session mode, each connection has
 * its own server process. In transaction mode, the process of a connection changes, or two connections have the same
 * process. In statement mode, transactions are not allowed.
 */
export async function findPoolMode({
  dialect,
  entry,
  reader,
}: Database): Promise<'session' | 'transaction' | 'statement' | undefined> {
  if (dialect !== 'postgres' || !(await isPooled(entry))) return undefined
  if (!(await allowsTransactions(entry))) return 'statement'
  const processOf = async (db: Knex): Promise<number> => (await db.raw('select pg_backend_pid() as pid')).rows[0].pid
  const own = new Set<number>()
  for (let round = 0; round < POOLER_ROUNDS; round += 1) {
    // Query the process of one connection twice in a row. If the connections took turns, a pooler that alternates
    // between two processes would always give each connection the same process.
    own.add(await processOf(entry)).add(await processOf(entry))
    if (own.size > 1 || own.has(await processOf(reader))) return 'transaction'
  }
  return 'session'
}

/** Whether a pooler allows transactions. In statement mode, the pooler closes the connection instead. */
async function allowsTransactions(db: Knex): Promise<boolean> {
  try {
    await db.transaction(async () => undefined)
    return true
  } catch (error) {
    if (isPoolerError(error)) return false
    throw error
  }
}

/**
 * A text that is larger than a page of SQLite, so that its row needs a new page. With a small row, the check could
 * succeed on a full disk, because existing pages can have space.
 */
const PROBE = 'x'.repeat(8_192)

/** The lock timeout of the check, in milliseconds: shorter than that of requests, so that `/readyz` fails first. */
const LOCK_TIMEOUT_MS = 2_000

/**
 * Checks that the database can be written: inserts a row, deletes it, and commits, so that nothing remains. On
 * PostgreSQL, takes the locks that writers take, to detect a table that another session has locked.
 */
export async function assertWritable({ dialect, writer }: Connections & { dialect: Dialect }): Promise<void> {
  await writer.transaction(async (tx) => {
    if (dialect === 'postgres') {
      await tx.raw(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
      await tx.raw('lock table passes, scans, events, jobs in row exclusive mode')
    }
    const name = `probe ${randomUUID()}`
    await tx('settings').insert({ name, value: dialect === 'sqlite' ? PROBE : '' })
    await tx('settings').where({ name }).delete()
  })
}

/** Returns the faults that SQLite finds in its file; `undefined` for PostgreSQL, which has no such check. */
export async function findDamage({ dialect, reader }: Database): Promise<string[] | undefined> {
  if (dialect !== 'sqlite') return undefined
  const rows: { quick_check: string }[] = await reader.raw('pragma quick_check(5)')
  return rows.map((row) => row.quick_check).filter((line) => line !== 'ok')
}

/**
 * Returns how many seconds this machine's clock is ahead of PostgreSQL's; negative if behind. The difference is reduced
 * by half of the round trip, because PostgreSQL can have read its clock at any time during the round trip. Returns
 * `undefined` for SQLite. No other query asks a database for the time.
 */
export async function findClockSkew(
  { dialect, reader }: Pick<Connections, 'reader'> & { dialect: Dialect },
  clock: () => Date,
): Promise<number | undefined> {
  if (dialect !== 'postgres') return undefined
  const sentAt = clock().getTime()
  const { rows } = (await reader.raw('select clock_timestamp() as at')) as { rows: { at: Date }[] }
  const uncertainty = (clock().getTime() - sentAt) / 2
  const difference = sentAt + uncertainty - rows[0]!.at.getTime()
  return (Math.sign(difference) * Math.max(0, Math.abs(difference) - Math.abs(uncertainty))) / 1000
}
