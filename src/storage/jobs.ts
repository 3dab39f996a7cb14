import { randomUUID } from 'node:crypto'
import type { Knex } from 'knex'
import { newId } from '../core/ids.ts'
import type { FanOutChunk } from './broadcasts.ts'
import {
  constant,
  deleteReturningIds,
  forShare,
  forUpdateSkipLocked,
  idIsChosen,
  insertMany,
  insertSelected,
} from './dialect.ts'

/** Queues of the outbox that are worked off side by side: what is slow or much in one never holds up another. */
export const lanes = [
  ...(['urgent', 'urgent-google', 'issuing', 'wallets', 'google', 'events', 'webhooks'] as const),
  ...(['fan-out', 'bulk', 'bulk-google', 'upkeep'] as const),
] as const
export type Lane = (typeof lanes)[number]

/** Kinds of work with the lane of each; within a lane 0 is for what a person waits for, 9 for what may take its time. */
const kinds = {
  'send-notification': { lane: 'urgent', priority: 0 },
  'message-google': { lane: 'urgent-google', priority: 0 },
  'issue-pass': { lane: 'issuing', priority: 3 },
  'update-wallet': { lane: 'wallets', priority: 4 },
  'update-google': { lane: 'google', priority: 4 },
  'upsert-google-class': { lane: 'google', priority: 3 },
  'fan-out-broadcast': { lane: 'fan-out', priority: 1 },
  'send-broadcast': { lane: 'bulk', priority: 5 },
  'message-google-broadcast': { lane: 'bulk-google', priority: 5 },
  'fan-out-events': { lane: 'events', priority: 4 },
  'deliver-webhooks': { lane: 'webhooks', priority: 4 },
  'detach-project': { lane: 'upkeep', priority: 9 },
} as const satisfies Record<string, { lane: Lane; priority: number }>
export type JobKind = keyof typeof kinds
export const jobKinds = Object.keys(kinds) as JobKind[]

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

export interface NewJob {
  workspaceId: string
  kind: JobKind
  subject: string
  correlationId: string | null
  runAt?: Date
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
 * the end of the lease; release makes jobs whose lease ended due again.
 */
export class Jobs {
  private readonly db: Knex
  private readonly onDue: (lane: Lane) => void

  constructor(db: Knex, onDue: (lane: Lane) => void) {
    this.db = db
    this.onDue = onDue
  }

  async insert(jobs: NewJob[], at: Date): Promise<void> {
    for (const lane of new Set(jobs.map((job) => kinds[job.kind].lane))) this.onDue(lane)
    const rows = jobs.map((job) => ({
      id: newId(at),
      workspace_id: job.workspaceId,
      kind: job.kind,
      subject: job.subject,
      correlation_id: job.correlationId,
      ...kinds[job.kind],
      run_at: (job.runAt ?? at).getTime(),
      attempts: 0,
      created_at: at.getTime(),
    }))
    await insertMany(this.db, 'jobs', rows)
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
    const missing = jobs.filter(({ subject }) => !known.has(subject))
    await this.insert(missing, at)
  }

  /** A job for each notification that a broadcast made for passes behind one id up to another; it takes the same id. */
  async insertFanOut(broadcastId: string, chunk: FanOutChunk, correlationId: string | null, at: Date): Promise<void> {
    const { lane, priority } = kinds['send-broadcast']
    this.onDue(lane)
    const now = constant(this.db, 'bigint', at.getTime())
    const columns = {
      ...{ id: 'id', workspace_id: 'workspace_id', kind: constant(this.db, 'text', 'send-broadcast'), subject: 'id' },
      correlation_id: constant(this.db, 'text', correlationId),
      ...{ lane: constant(this.db, 'text', lane), priority: constant(this.db, 'integer', priority) },
      ...{ run_at: now, attempts: constant(this.db, 'integer', 0), created_at: now },
    }
    const made = this.db('notifications').where({ broadcast_id: broadcastId })
    if (chunk.after !== null) made.where('pass_id', '>', chunk.after)
    if (chunk.upTo !== null) made.where('pass_id', '<=', chunk.upTo)
    await insertSelected(this.db, 'jobs', columns, made)
  }

  /** When the next job of a lane that is not due yet will be. */
  async nextRunAt(lane: Lane, at: Date): Promise<Date | undefined> {
    const row: { run_at: number } | undefined = await this.waiting(lane)
      .where('run_at', '>', at.getTime())
      .orderBy('run_at')
      .first('run_at')
    return row && new Date(row.run_at)
  }

  async hasDue(lane: Lane, at: Date): Promise<boolean> {
    return (await this.due(lane, at).first('id')) !== undefined
  }

  /** Takes up to `limit` due jobs of a lane, the most urgent first, and holds them until the lease ends. */
  async claim(lane: Lane, at: Date, options: { limit: number; leaseSeconds: number }): Promise<Job[]> {
    const first = this.due(lane, at).orderBy(['priority', 'run_at']).limit(options.limit).select('id')
    const chosen = forUpdateSkipLocked(this.db, first)
    const rows: Row[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, chosen))
      .update({
        claim_token: randomUUID(),
        run_at: at.getTime() + options.leaseSeconds * 1000,
        attempts: this.db.raw('attempts + 1'),
      })
      .returning(['id', 'workspace_id', 'kind', 'subject', 'correlation_id', 'attempts', 'claim_token'])
    return rows.map(({ workspace_id: workspaceId, correlation_id: correlationId, claim_token: claimToken, ...row }) => {
      return { ...row, workspaceId, correlationId, claimToken }
    })
  }

  /** Moves the end of the lease; jobs that were lost meanwhile stay lost. */
  async renew(jobs: Job[], until: Date): Promise<void> {
    await this.held(jobs).update({ run_at: until.getTime() })
  }

  /** Those that are still ours, until the transaction ends: what became of any other must not be written. */
  async lockHeld(jobs: Job[]): Promise<Job[]> {
    // Written as it is: that locks a row on either database.
    const rows: Row[] = await this.held(jobs)
      .update({ claim_token: jobs[0]?.claimToken ?? null })
      .returning('id')
    const held = new Set(rows.map(({ id }) => id))
    return jobs.filter(({ id }) => held.has(id))
  }

  /** Removes jobs that are done, and returns those that were still ours: only their effects may be written. */
  async complete(jobs: Job[]): Promise<Job[]> {
    const done = new Set(await deleteReturningIds(this.db, this.held(jobs)))
    return jobs.filter((job) => done.has(job.id))
  }

  /** Gives jobs back to run later, and returns how many of them were still ours. */
  async retry(jobs: Job[], runAt: Date, error: string): Promise<number> {
    return this.held(jobs).update({ claim_token: null, run_at: runAt.getTime(), last_error: error })
  }

  /** Gives jobs back that could not begin, or not go on: the run does not count. As retry. */
  async putOff(jobs: Job[], runAt: Date): Promise<number> {
    return this.held(jobs).update({
      ...{ claim_token: null, run_at: runAt.getTime() },
      attempts: this.db.raw('attempts - 1'),
    })
  }

  /** Sets jobs aside for an operator to look at; false when they were no longer ours. */
  async fail(jobs: Job[], at: Date, error: string): Promise<boolean> {
    const count = await this.held(jobs).update({ claim_token: null, failed_at: at.getTime(), last_error: error })
    return count > 0
  }

  /** Removes jobs of a kind and subjects that wait: what they are about is gone, or the caller looks at it himself. */
  async deleteWaiting(kind: JobKind, ...subjects: string[]): Promise<void> {
    await this.db('jobs').whereIn('subject', subjects).where({ kind, claim_token: null, failed_at: null }).delete()
  }

  async hasLapsed(at: Date): Promise<boolean> {
    return (await this.lapsed(at).first('id')) !== undefined
  }

  /** Makes jobs whose lease ended due again: their worker died, or hangs; whatever it keeps locked has to wait. */
  async release(at: Date): Promise<Pick<Job, 'workspaceId' | 'kind' | 'subject'>[]> {
    const rows: Row[] = await this.db('jobs')
      .whereRaw(idIsChosen(this.db, forUpdateSkipLocked(this.db, this.lapsed(at).select('id'))))
      .update({ claim_token: null })
      .returning(['workspace_id', 'kind', 'subject'])
    for (const lane of new Set(rows.map((row) => kinds[row.kind].lane))) this.onDue(lane)
    return rows.map((row) => ({ workspaceId: row.workspace_id, kind: row.kind, subject: row.subject }))
  }

  /** Jobs that wait, but for those whose subject a job of the same kind is at work on: newer must not overtake older. */
  private due(lane: Lane, at: Date) {
    const running = this.db({ running: 'jobs' })
      .whereRaw('running.subject = jobs.subject and running.kind = jobs.kind and running.claim_token is not null')
      .select(this.db.raw('1'))
    return this.waiting(lane).where('run_at', '<=', at.getTime()).whereNotExists(running)
  }

  /** Naming the priority lets an index lead straight to a moment, past any number of jobs that are not due yet. */
  private waiting(lane: Lane) {
    const waiting = this.db('jobs').where({ lane, claim_token: null, failed_at: null })
    const [priority, ...others] = prioritiesOf(lane)
    return others.length === 0 ? waiting.where({ priority }) : waiting
  }

  private lapsed(at: Date) {
    return this.db('jobs').whereNotNull('claim_token').where('run_at', '<=', at.getTime())
  }

  /** Jobs of one claim share its token. */
  private held(jobs: Job[]) {
    const ids = jobs.map(({ id }) => id)
    return this.db('jobs')
      .whereIn('id', ids)
      .where({ claim_token: jobs[0]?.claimToken ?? null })
  }
}

function prioritiesOf(lane: Lane): number[] {
  return [...new Set(Object.values(kinds).flatMap((kind) => (kind.lane === lane ? [kind.priority] : [])))]
}
