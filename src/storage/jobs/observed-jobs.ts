import type { Knex } from 'knex'
import type { JobOutcome, Tell } from '../operations/news.ts'
import type { Queue } from './job-kinds.ts'
import { type Job, Jobs, type RescuedJob } from './jobs.ts'

/** The outbox, with somebody who is told how runs end. */
export class ObservedJobs extends Jobs {
  private readonly tell: Tell

  constructor(db: Knex, onDue: (queue: Queue) => void, tell: Tell) {
    super(db, onDue)
    this.tell = tell
  }

  override async complete(jobs: Job[]): Promise<Job[]> {
    const done = await super.complete(jobs)
    for (const kind of new Set(done.map((job) => job.kind))) {
      const ofKind = done.filter((job) => job.kind === kind)
      this.tellRuns(ofKind, 'done', ofKind.length)
    }
    return done
  }

  override async retry(jobs: Job[], runAt: Date, error: string): Promise<number> {
    return this.tellRuns(jobs, 'retried', await super.retry(jobs, runAt, error))
  }

  override async putOff(jobs: Job[], runAt: Date): Promise<number> {
    return this.tellRuns(jobs, 'put_off', await super.putOff(jobs, runAt))
  }

  override async fail(jobs: Job[], at: Date, error: string): Promise<boolean> {
    const hasFailed = await super.fail(jobs, at, error)
    this.tellRuns(jobs, 'gave_up', hasFailed ? jobs.length : 0)
    return hasFailed
  }

  override async release(at: Date): Promise<RescuedJob[]> {
    const rescued = await super.release(at)
    for (const { kind, isQuarantined } of rescued) {
      this.tell({ what: 'runs', kind, outcome: isQuarantined ? 'quarantined' : 'lapsed', count: 1 })
    }
    return rescued
  }

  /** Of jobs that share a kind. */
  private tellRuns(jobs: Job[], outcome: JobOutcome, count: number): number {
    if (count > 0) this.tell({ what: 'runs', kind: jobs[0]!.kind, outcome, count })
    return count
  }
}
