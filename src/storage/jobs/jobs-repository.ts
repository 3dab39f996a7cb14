import { randomUUID } from 'node:crypto'
import { groupBy } from '../../core/group-by.ts'
import { idsOf, newId } from '../../core/ids.ts'
import { MAX_JOB_LAPSES, QUARANTINE_REASON } from '../../core/rules/sending/retries.ts'
import { insertForEach, insertRows } from '../db/bulk-rows.ts'
import { bindIds, constant, idIsChosen, insertSelected, isAmong, isUnlocked, rowLock } from '../db/dialect.ts'
import { runPrepared, runSilently } from '../db/prepared.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import type { JobOutcome } from '../operations/store-events.ts'
import { type PassRange, whereInRange } from '../passes/list/pass-walk.ts'
import { type JobKind, type Priority, placeOf, type Queue } from './job-kinds.ts'
import { mayRun, type NextTurn, nextTurn, type TurnOptions, waitsIn } from './turns.ts'

const JOB = mapping({
  id: field.text,
  workspaceId: field.text,
  kind: field.plain<JobKind>(),
  /** The ID of the row that the job is for. */
  subject: field.text,
  correlationId: field.optionalText,
})

/** A job that this worker holds until the lease of the job ends. Every write to the job requires its claim token. */
export interface Job extends RecordOf<typeof JOB> {
  /** The number of runs, including this one. */
  attempts: number
  claimToken: string
}

/** A job to queue, due at `runAt` (default: immediately). */
export interface NewJob {
  workspaceId: string
  kind: JobKind
  subject: string
  correlationId: string | null
  runAt?: Date
  /** Whether the job is one of many that are not urgent. */
  isBulk?: boolean
}

export interface RescuedJob extends RecordOf<typeof JOB> {
  /** Whether the job lapsed so often that it does not run again. */
  isQuarantined: boolean
}

export interface ClaimOptions {
  limit: number
  leaseSeconds: number
  /** The priority of the jobs; `interactive` by default. The quarantine queue has no priorities. */
  priority?: Priority
  /** The workspace of the jobs; by default, the first with a due job. */
  workspaceId?: string
}

type Row = RowOf<typeof JOB>

/**
 * The outbox of deferred work. The transaction that causes the work writes a job as a row. A claim sets `run_at` to the
 * end of the lease, and `release` makes lapsed jobs due again. All jobs of a claim belong to one workspace, so that
 * workspaces take turns.
 */
export class Jobs extends Repository {
  /** Queues jobs. Workers of this process wake up when the transaction commits. */
  async insert(jobs: NewJob[], at: Date): Promise<void> {
    await insertRows(this.db, 'jobs', this.toRows(jobs, at))
  }

  private toRows(jobs: NewJob[], at: Date) {
    for (const place of new Set(jobs.map(placeOf))) this.onDue(place)
    return jobs.map(({ runAt = at, isBulk, ...job }) => ({
      ...JOB.write({ ...job, id: newId(at) }),
      ...placeOf({ kind: job.kind, isBulk }),
      run_at: runAt.getTime(),
      attempts: 0,
      created_at: at.getTime(),
    }))
  }

  /**
   * Queues jobs of one kind. Skips a job if a job of its kind and subject waits already, because one run does the work
   * of both. The caller must lock the subjects. Otherwise, two concurrent calls could both insert a job.
   */
  async insertOnce(jobs: NewJob[], at: Date): Promise<void> {
    if (jobs.length === 0) return
    const subjects = jobs.map(({ subject }) => subject)
    const waiting = this.db('jobs').where({ kind: jobs[0]!.kind, claim_token: null, failed_at: null })
    const known = new Set<string>(await waiting.whereIn('subject', subjects).forShare().pluck('subject'))
    const missing = jobs.filter(({ subject }) => !known.has(subject))
    await this.insert(missing, at)
    const hastened = jobs.filter(({ subject, isBulk }) => known.has(subject) && !isBulk)
    if (hastened.length > 0) await this.hasten(hastened)
  }

  /** Queues jobs. Skips a job if a job of its kind and subject is due. A job that is scheduled for later is not due. */
  async insertUnlessDue(jobs: NewJob[], at: Date): Promise<void> {
    const lookup = { name: 'insert-jobs-unless-due', table: 'jobs', given: COLUMNS, items: this.toRows(jobs, at) }
    const lock = rowLock(this.db, 'for share')
    // Write `lapses < 1` instead of `lapses = 0`. Otherwise, a plan that was cached while few jobs waited could use the
    // partial index for `nextTurn`, and read the whole index.
    const due = `select 1 from jobs where kind = given.kind and subject = given.subject and claim_token is null
      and failed_at is null and lapses < 1 and run_at <= given.created_at limit 1 ${lock}`
    await insertForEach(this.db, lookup, `(${due}) is null`)
  }

  /** Gives waiting bulk jobs the priority of single jobs if they have the kind and subject of a given job. */
  private async hasten(jobs: NewJob[]): Promise<void> {
    const kind = jobs[0]!.kind
    const subjects = jobs.map(({ subject }) => subject)
    await this.db('jobs')
      .whereIn('subject', subjects)
      .where({ kind, ...placeOf({ kind, isBulk: true }), claim_token: null, failed_at: null })
      .update(placeOf({ kind }))
    this.onDue(placeOf({ kind }))
  }

  /**
   * For each notification of a broadcast, queues a job if the pass ID of the notification is in the range. The ID of
   * the notification is also the ID and the subject of the job.
   */
  async insertFanOut(broadcastId: string, chunk: PassRange, correlationId: string | null, at: Date): Promise<void> {
    const place = placeOf({ kind: 'send-broadcast-notification' })
    const { queue, priority } = place
    this.onDue(place)
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
    await insertSelected(this.db, 'jobs', columns, whereInRange(made, 'pass_id', chunk))
  }

  /** Finds the workspace whose jobs run next in a queue. */
  nextTurn(queue: Queue, at: Date, options: TurnOptions = {}): Promise<NextTurn> {
    return nextTurn(this.db, queue, at, options)
  }

  /**
   * Claims up to `limit` due jobs of one workspace until the lease ends, the oldest first and one per kind and subject.
   * If another server concurrently claims a job of the same subject, fails with an error that `isTaken` recognizes.
   */
  async claim(
    queue: Queue,
    at: Date,
    { limit, leaseSeconds, priority = 'interactive', ...options }: ClaimOptions,
  ): Promise<Job[]> {
    const workspaceId = options.workspaceId ?? (await this.nextTurn(queue, at, { priority })).workspaceId
    if (workspaceId === undefined) return []
    const due = this.db('jobs')
      .whereRaw(`${waitsIn(queue)} and ${mayRun}`, { queue, priority, at: at.getTime() })
      .where({ workspace_id: workspaceId })
      .orderBy('run_at')
      .limit(limit)
      .select('id', 'kind', 'subject', 'run_at')
    const place = this.db.raw('row_number() over (partition by kind, subject order by run_at, id) as place')
    const placed = this.db.from(due.forUpdate().skipLocked().as('due')).select('id', place)
    const chosen = this.db.from(placed.as('placed')).where({ place: 1 }).select('id')
    const rows: (Row & { attempts: number; claim_token: string })[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, chosen))
      .update({
        claim_token: randomUUID(),
        run_at: at.getTime() + leaseSeconds * 1000,
        attempts: this.db.raw('attempts + 1'),
      })
      .returning([...JOB.columns, 'attempts', 'claim_token'])
    return rows.map((row) => ({ ...JOB.read(row), attempts: row.attempts, claimToken: row.claim_token }))
  }

  /**
   * Renews the leases of jobs from any number of claims. Skips rows that a transaction has locked, to avoid deadlocks.
   * Returns the jobs that were not renewed, because they are locked (see `renewLocked`) or this worker lost them.
   */
  async renew(jobs: Job[], until: Date): Promise<Job[]> {
    const rows: { id: string }[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, this.held(jobs).select('id').forUpdate().skipLocked()))
      .update({ run_at: until.getTime() })
      .returning('id')
    const renewed = new Set(rows.map(({ id }) => id))
    return jobs.filter(({ id }) => !renewed.has(id))
  }

  /**
   * Renews the leases of jobs of one claim, and waits if they are locked. A long job runs its transactions in close
   * succession, so `renew` might never find the job unlocked.
   */
  async renewLocked(jobs: Job[], until: Date): Promise<void> {
    await this.held(jobs).update({ run_at: until.getTime() })
  }

  /**
   * Locks the jobs that this worker still holds until the transaction ends, and returns these jobs. The caller must not
   * write results of the other jobs.
   */
  async lockHeld(jobs: Job[]): Promise<Job[]> {
    if (jobs.length === 0) return []
    // Use an update without a change, because it locks rows on both databases.
    const rows: Row[] = await this.held(jobs)
      .update({ claim_token: this.db.ref('claim_token') })
      .returning('id')
    const held = new Set(rows.map(({ id }) => id))
    return jobs.filter(({ id }) => held.has(id))
  }

  /**
   * Locks a job that works in chunks. Returns false if this worker no longer holds the job. A committed chunk is
   * progress, so it resets the lapses. A long job thus survives any number of crashes that it did not cause.
   */
  async lockForChunk(job: Job): Promise<boolean> {
    const { id, claimToken } = job
    const sql = 'update jobs set lapses = 0 where id = :id and claim_token = :claimToken returning id'
    return (await runPrepared(this.db, 'lock-for-chunk', { id, claimToken }, () => sql)).length > 0
  }

  /**
   * Deletes the completed jobs of one claim that this worker still held, and returns these jobs. The caller must write
   * only the effects of these jobs.
   */
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
    const ids = new Set(rows.map(({ id }) => id))
    const done = jobs.filter((job) => ids.has(job.id))
    for (const [kind, ofKind] of groupBy(done, (job) => job.kind)) this.emitRuns(kind, 'done', ofKind.length)
    return done
  }

  /** Requeues jobs of one kind for a later run. Returns how many of the jobs this worker still held. */
  async retry(jobs: Job[], runAt: Date, error: string): Promise<number> {
    const count = await this.held(jobs).update({ claim_token: null, run_at: runAt.getTime(), last_error: error })
    return this.emitRuns(jobs[0]?.kind, 'retried', count)
  }

  /** Like `retry`, for jobs that could not start or continue: the run does not count as an attempt. */
  async snooze(jobs: Job[], runAt: Date): Promise<number> {
    const attempts = this.db.raw('attempts - 1')
    const count = await this.held(jobs).update({ claim_token: null, run_at: runAt.getTime(), attempts })
    return this.emitRuns(jobs[0]?.kind, 'put_off', count)
  }

  /** Discards jobs of one kind until an operator retries them. Returns false if this worker no longer held any. */
  async fail(jobs: Job[], at: Date, error: string): Promise<boolean> {
    const count = await this.held(jobs).update({ claim_token: null, failed_at: at.getTime(), last_error: error })
    return this.emitRuns(jobs[0]?.kind, 'gave_up', count) > 0
  }

  /**
   * Deletes the waiting jobs of a kind that have the given subjects, for a caller that deletes the subjects or does the
   * work itself. Skips jobs that another transaction has locked, because that transaction relies on these jobs (see
   * `insertUnlessDue`).
   */
  async deleteWaiting(kind: JobKind, ...subjects: string[]): Promise<void> {
    const values = { kind, subjects: bindIds(this.db, subjects) }
    await runSilently(this.db, 'delete-waiting-jobs', values, () => {
      const isWaiting = `${isAmong(this.db, 'subject', 'subjects')} and kind = :kind and claim_token is null and failed_at is null`
      return `delete from jobs where ${isUnlocked(this.db, 'jobs', isWaiting)}`
    })
  }

  async hasLapsed(at: Date): Promise<boolean> {
    return (await this.lapsed(at).first('id')) !== undefined
  }

  /**
   * Rescues jobs whose lease ended because their worker died, hangs, or lost its connection. Skips locked jobs. A
   * rescued job is due again in the quarantine queue. If it lapsed too often, it fails instead (`isQuarantined`).
   */
  async release(at: Date): Promise<RescuedJob[]> {
    const isOver = `lapses + 1 >= ${MAX_JOB_LAPSES}`
    const rows: (Row & { failed_at: number | null })[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, this.lapsed(at).select('id').forUpdate().skipLocked()))
      .update({
        claim_token: null,
        lapses: this.db.raw('lapses + 1'),
        failed_at: this.db.raw(`case when ${isOver} then cast(? as bigint) end`, [at.getTime()]),
        last_error: this.db.raw(`case when ${isOver} then ? else last_error end`, [QUARANTINE_REASON]),
      })
      .returning([...JOB.columns, 'failed_at'])
    if (rows.some((row) => row.failed_at === null)) this.onDue('quarantine')
    return rows.map((row) => {
      const isQuarantined = row.failed_at !== null
      this.emitRuns(row.kind, isQuarantined ? 'quarantined' : 'lapsed', 1)
      return { ...JOB.read(row), isQuarantined }
    })
  }

  private emitRuns(kind: JobKind | undefined, outcome: JobOutcome, count: number): number {
    if (kind && count > 0) this.emit({ what: 'runs', kind, outcome, count })
    return count
  }

  private lapsed(at: Date) {
    return this.db('jobs').whereNotNull('claim_token').where('run_at', '<=', at.getTime())
  }

  /** Selects the jobs that this worker still holds. Jobs of one claim share its token. */
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
