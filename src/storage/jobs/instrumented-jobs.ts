import type { Knex } from 'knex'
import type { Emit, JobOutcome } from '../operations/store-events.ts'
import type { Queue } from './job-kinds.ts'
import { type Job, Jobs, type RescuedJob } from './jobs-repository.ts'

/** The outbox, which emits the outcome of each run. */
export class InstrumentedJobs extends Jobs {
  private readonly emit: Emit

  constructor(db: Knex, onDue: (queue: Queue) => void, emit: Emit) {
    super(db, onDue)
    this.emit = emit
  }

  /** Emits a completed run for each job. */
  override async complete(jobs: Job[]): Promise<Job[]> {
    const done = await super.complete(jobs)
    for (const kind of new Set(done.map((job) => job.kind))) {
      const ofKind = done.filter((job) => job.kind === kind)
      this.emitRuns(ofKind, 'done', ofKind.length)
    }
    return done
  }

  /** Emits a retried run for each job. */
  override async retry(jobs: Job[], runAt: Date, error: string): Promise<number> {
    return this.emitRuns(jobs, 'retried', await super.retry(jobs, runAt, error))
  }

  /** Emits a snoozed run for each job. */
  override async snooze(jobs: Job[], runAt: Date): Promise<number> {
    return this.emitRuns(jobs, 'put_off', await super.snooze(jobs, runAt))
  }

  /** Emits a discarded run for each job. */
  override async fail(jobs: Job[], at: Date, error: string): Promise<boolean> {
    const hasFailed = await super.fail(jobs, at, error)
    this.emitRuns(jobs, 'gave_up', hasFailed ? jobs.length : 0)
    return hasFailed
  }

  /** Emits a lapsed or quarantined run for each job. */
  override async release(at: Date): Promise<RescuedJob[]> {
    const rescued = await super.release(at)
    for (const { kind, isQuarantined } of rescued) {
      this.emit({ what: 'runs', kind, outcome: isQuarantined ? 'quarantined' : 'lapsed', count: 1 })
    }
    return rescued
  }

  /** All jobs must have the same kind. */
  private emitRuns(jobs: Job[], outcome: JobOutcome, count: number): number {
    if (count > 0) this.emit({ what: 'runs', kind: jobs[0]!.kind, outcome, count })
    return count
  }
}
