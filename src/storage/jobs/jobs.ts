import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { newId } from '../../core/ids.ts'
import { MAX_JOB_LAPSES, QUARANTINE_REASON } from '../../core/rules/sending/retries.ts'
import { insertForEach, insertRows } from '../db/bulk-rows.ts'
import {
  bindIds,
  constant,
  forShare,
  forUpdateSkipLocked,
  idIsChosen,
  insertSelected,
  isAmong,
  isUnlocked,
  rowLock,
} from '../db/dialect.ts'
import { runPrepared, runSilently } from '../db/prepared.ts'
import type { FanOutChunk } from '../messages/broadcasts.ts'
import { type JobKind, type Priority, placeOf, type Queue } from './job-kinds.ts'
import { type Look, lookAround, mayRun, type TurnOptions, waitsIn } from './turns.ts'

/** A job that this worker holds until its lease ends; whatever it writes must present the claim token. */
export interface Job {
  id: string
  workspaceId: string
  kind: JobKind
  /** The row that the job is about. */
  subject: string
  correlationId: string | null
  /** Runs so far, this one included. */
  attempts: number
  claimToken: string
}

/** A job to queue: due at runAt, at once by default. */
export interface NewJob {
  workspaceId: string
  kind: JobKind
  subject: string
  correlationId: string | null
  runAt?: Date
  /** One of many that no person waits for. */
  isBulk?: boolean
}

/** A job that was taken from a worker that died, hangs, or was cut off. */
export interface RescuedJob extends Pick<Job, 'id' | 'workspaceId' | 'kind' | 'subject' | 'correlationId'> {
  /** It was taken so often that it is not run again. */
  isQuarantined: boolean
}

/** How many jobs a claim takes, and for how long. */
export interface ClaimOptions {
  limit: number
  leaseSeconds: number
  /** `interactive` by default. The quarantine queue has no priorities. */
  priority?: Priority
  /** Whose jobs; by default those of the first workspace with something due. */
  workspaceId?: string
}

interface Row {
  id: string
  workspace_id: string
  kind: JobKind
  subject: string
  correlation_id: string | null
  attempts: number
  claim_token: string
}

/**
 * The outbox: whatever must happen later is a row written in the same transaction as its cause. A claim moves run_at to
 * the end of the lease; release makes jobs whose lease ended due again. Workspaces take turns: a claim takes jobs of one.
 */
export class Jobs {
  private readonly db: Knex
  private readonly onDue: (queue: Queue) => void

  constructor(db: Knex, onDue: (queue: Queue) => void) {
    this.db = db
    this.onDue = onDue
  }

  /** Queues jobs; workers of this process are woken when the transaction commits. */
  async insert(jobs: NewJob[], at: Date): Promise<void> {
    await insertRows(this.db, 'jobs', this.toRows(jobs, at))
  }

  private toRows(jobs: NewJob[], at: Date) {
    for (const queue of new Set(jobs.map((job) => placeOf(job).queue))) this.onDue(queue)
    return jobs.map((job) => ({
      id: newId(at),
      workspace_id: job.workspaceId,
      kind: job.kind,
      subject: job.subject,
      correlation_id: job.correlationId,
      ...placeOf(job),
      run_at: (job.runAt ?? at).getTime(),
      attempts: 0,
      created_at: at.getTime(),
    }))
  }

  /**
   * As insert, for work that one run does once for all: a row that waits already is enough, and does not begin before the
   * transaction ends. The caller holds the subject locked, so that two never look at once.
   */
  async insertOnce(jobs: NewJob[], at: Date): Promise<void> {
    if (jobs.length === 0) return
    const subjects = jobs.map(({ subject }) => subject)
    const waiting = this.db('jobs').where({ kind: jobs[0]!.kind, claim_token: null, failed_at: null })
    const known = new Set<string>(await forShare(this.db, waiting.whereIn('subject', subjects)).pluck('subject'))
    await this.insert(
      jobs.filter(({ subject }) => !known.has(subject)),
      at,
    )
    const hastened = jobs.filter(({ subject, isBulk }) => known.has(subject) && !isBulk)
    if (hastened.length > 0) await this.hasten(hastened)
  }

  /** As insertOnce, where only a row that is due already is enough: what waits for a later moment is another matter. */
  async insertUnlessDue(jobs: NewJob[], at: Date): Promise<void> {
    const lookup = { name: 'insert-jobs-unless-due', table: 'jobs', given: COLUMNS, items: this.toRows(jobs, at) }
    const lock = rowLock(this.db, 'for share')
    // Not as the index of turns says it: of that, a plan from when few jobs waited reads all.
    const due = `select 1 from jobs where kind = given.kind and subject = given.subject and claim_token is null
      and failed_at is null and lapses < 1 and run_at <= given.created_at limit 1 ${lock}`
    await insertForEach(this.db, lookup, `(${due}) is null`)
  }

  /** Gives waiting bulk jobs the priority of a single one. */
  private async hasten(jobs: NewJob[]): Promise<void> {
    const kind = jobs[0]!.kind
    const subjects = jobs.map(({ subject }) => subject)
    await this.db('jobs')
      .whereIn('subject', subjects)
      .where({ kind, ...placeOf({ kind, isBulk: true }), claim_token: null, failed_at: null })
      .update(placeOf({ kind }))
    this.onDue(placeOf({ kind }).queue)
  }

  /** A job for each notification that a broadcast made for passes after one id up to another; it takes the same id. */
  async insertFanOut(broadcastId: string, chunk: FanOutChunk, correlationId: string | null, at: Date): Promise<void> {
    const { queue, priority } = placeOf({ kind: 'send-broadcast-notification' })
    this.onDue(queue)
    const now = constant(this.db, 'bigint', at.getTime())
    const columns = {
      id: 'id',
      workspace_id: 'workspace_id',
      kind: constant(this.db, 'text', 'send-broadcast-notification'),
      subject: 'id',
      correlation_id: constant(this.db, 'text', correlationId),
      queue: constant(this.db, 'text', queue),
      priority: constant(this.db, 'text', priority),
      run_at: now,
      attempts: constant(this.db, 'integer', 0),
      created_at: now,
    }
    const made = this.db('notifications').where({ broadcast_id: broadcastId })
    if (chunk.after !== null) made.where('pass_id', '>', chunk.after)
    if (chunk.upTo !== null) made.where('pass_id', '<=', chunk.upTo)
    await insertSelected(this.db, 'jobs', columns, made)
  }

  /** Looks whose turn it is in a queue: that of the next workspace that has a job which may run. */
  look(queue: Queue, at: Date, options: TurnOptions = {}): Promise<Look> {
    return lookAround(this.db, queue, at, options)
  }

  /**
   * Takes up to `limit` due jobs of one workspace, the oldest first and one of each kind and subject, and holds them until
   * the lease ends. Where another server takes a job of the same subject in the same instant, the statement fails with what
   * `isTaken` knows: the other one has it.
   */
  async claim(
    queue: Queue,
    at: Date,
    { limit, leaseSeconds, priority = 'interactive', ...options }: ClaimOptions,
  ): Promise<Job[]> {
    const workspaceId = options.workspaceId ?? (await this.look(queue, at, { priority })).workspaceId
    if (workspaceId === undefined) return []
    const due = this.db('jobs')
      .whereRaw(`${waitsIn(queue)} and ${mayRun}`, { queue, priority, at: at.getTime() })
      .where({ workspace_id: workspaceId })
      .orderBy('run_at')
      .limit(limit)
      .select('id', 'kind', 'subject', 'run_at')
    const place = this.db.raw('row_number() over (partition by kind, subject order by run_at, id) as place')
    const placed = this.db.from(forUpdateSkipLocked(this.db, due).as('due')).select('id', place)
    const chosen = this.db.from(placed.as('placed')).where({ place: 1 }).select('id')
    const rows: Row[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, chosen))
      .update({
        claim_token: randomUUID(),
        run_at: at.getTime() + leaseSeconds * 1000,
        attempts: this.db.raw('attempts + 1'),
      })
      .returning(['id', 'workspace_id', 'kind', 'subject', 'correlation_id', 'attempts', 'claim_token'])
    return rows.map((row) => ({ ...toJob(row), attempts: row.attempts, claimToken: row.claim_token }))
  }

  /**
   * Moves the end of the leases of any number of claims; jobs that were lost meanwhile stay lost. What a transaction has
   * locked is passed over, so that none waits for another in a circle. Returns what was not renewed: see `renewLocked`.
   */
  async renew(jobs: Job[], until: Date): Promise<Job[]> {
    const rows: { id: string }[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, forUpdateSkipLocked(this.db, this.held(jobs).select('id'))))
      .update({ run_at: until.getTime() })
      .returning('id')
    const renewed = new Set(rows.map(({ id }) => id))
    return jobs.filter(({ id }) => !renewed.has(id))
  }

  /** Renews jobs of one claim after the transactions that have them locked: those of a long job follow each other closely. */
  async renewLocked(jobs: Job[], until: Date): Promise<void> {
    await this.held(jobs).update({ run_at: until.getTime() })
  }

  /** Those that are still ours, until the transaction ends: what became of any other must not be written. */
  async lockHeld(jobs: Job[]): Promise<Job[]> {
    if (jobs.length === 0) return []
    // Written as it is: that locks a row on either database.
    const rows: Row[] = await this.held(jobs)
      .update({ claim_token: this.db.ref('claim_token') })
      .returning('id')
    const held = new Set(rows.map(({ id }) => id))
    return jobs.filter(({ id }) => held.has(id))
  }

  /**
   * As lockHeld of one that works in chunks; false where it is no longer ours. A chunk that commits is progress, so what the
   * job lapsed before is forgotten with it: one that goes on for long outlives any number of crashes that others cause.
   */
  async lockForChunk(job: Job): Promise<boolean> {
    const { id, claimToken } = job
    const sql = 'update jobs set lapses = 0 where id = :id and claim_token = :claimToken returning id'
    return (await runPrepared(this.db, 'lock-for-chunk', { id, claimToken }, () => sql)).length > 0
  }

  /** Removes jobs that are done, and returns those that were still ours: only their effects may be written. */
  async complete(jobs: Job[]): Promise<Job[]> {
    if (jobs.length === 0) return []
    const values = { claimToken: jobs[0]!.claimToken, ids: bindIds(this.db, idsOf(jobs)) }
    const isHeld = `${isAmong(this.db, 'id', 'ids')} and claim_token = :claimToken`
    const rows = await runPrepared<{ id: string }>(
      this.db,
      'complete-jobs',
      values,
      () => `delete from jobs where ${isHeld} returning id`,
    )
    const done = new Set(rows.map(({ id }) => id))
    return jobs.filter((job) => done.has(job.id))
  }

  /** Gives jobs back to run later, and returns how many of them were still ours. */
  async retry(jobs: Job[], runAt: Date, error: string): Promise<number> {
    return this.held(jobs).update({ claim_token: null, run_at: runAt.getTime(), last_error: error })
  }

  /** Gives jobs back that could not begin, or not go on: the run does not count. As retry. */
  async snooze(jobs: Job[], runAt: Date): Promise<number> {
    return this.held(jobs).update({
      claim_token: null,
      run_at: runAt.getTime(),
      attempts: this.db.raw('attempts - 1'),
    })
  }

  /** Sets jobs aside for an operator to look at; false when they were no longer ours. */
  async fail(jobs: Job[], at: Date, error: string): Promise<boolean> {
    const count = await this.held(jobs).update({ claim_token: null, failed_at: at.getTime(), last_error: error })
    return count > 0
  }

  /**
   * Removes jobs of a kind and subjects that wait: what they are about is gone, or the caller looks at it himself. One that
   * somebody counts on (see insertUnlessDue) has to stay, and is passed over.
   */
  async deleteWaiting(kind: JobKind, ...subjects: string[]): Promise<void> {
    const values = { kind, subjects: bindIds(this.db, subjects) }
    await runSilently(this.db, 'delete-waiting-jobs', values, () => {
      const isWaiting = `${isAmong(this.db, 'subject', 'subjects')} and kind = :kind and claim_token is null and failed_at is null`
      return `delete from jobs where ${isUnlocked(this.db, 'jobs', isWaiting)}`
    })
  }

  /** True where a job's lease has ended and nobody has taken it back. */
  async hasLapsed(at: Date): Promise<boolean> {
    return (await this.lapsed(at).first('id')) !== undefined
  }

  /**
   * Takes jobs whose lease ended from their worker, which died, hangs, or was cut off; whatever it keeps locked has to wait.
   * They are due again in the quarantine queue. One that was taken too often does not run again.
   */
  async release(at: Date): Promise<RescuedJob[]> {
    const isOver = `lapses + 1 >= ${MAX_JOB_LAPSES}`
    const rows: (Row & { failed_at: number | null })[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, forUpdateSkipLocked(this.db, this.lapsed(at).select('id'))))
      .update({
        claim_token: null,
        lapses: this.db.raw('lapses + 1'),
        failed_at: this.db.raw(`case when ${isOver} then cast(? as bigint) end`, [at.getTime()]),
        last_error: this.db.raw(`case when ${isOver} then ? else last_error end`, [QUARANTINE_REASON]),
      })
      .returning(['id', 'workspace_id', 'kind', 'subject', 'correlation_id', 'failed_at'])
    if (rows.some((row) => row.failed_at === null)) this.onDue('quarantine')
    return rows.map((row) => ({ ...toJob(row), isQuarantined: row.failed_at !== null }))
  }

  private lapsed(at: Date) {
    return this.db('jobs').whereNotNull('claim_token').where('run_at', '<=', at.getTime())
  }

  /** Jobs of one claim share its token. */
  private held(jobs: Job[]) {
    const tokens = [...new Set(jobs.map(({ claimToken }) => claimToken))]
    return this.db('jobs').whereIn('id', idsOf(jobs)).whereIn('claim_token', tokens)
  }
}

const COLUMNS = {
  id: 'uuid',
  workspace_id: 'uuid',
  kind: 'text',
  subject: 'uuid',
  correlation_id: 'text',
  queue: 'text',
  priority: 'text',
  run_at: 'bigint',
  attempts: 'integer',
  created_at: 'bigint',
} as const

const idsOf = (jobs: Job[]) => jobs.map(({ id }) => id)

function toJob(row: Pick<Row, 'id' | 'workspace_id' | 'kind' | 'subject' | 'correlation_id'>) {
  const { id, kind, subject } = row
  return { id, kind, subject, workspaceId: row.workspace_id, correlationId: row.correlation_id }
}
