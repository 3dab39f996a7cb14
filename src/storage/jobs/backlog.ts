import type { Platform } from '../../core/contract/schemas/platform.ts'
import { MAX_JOB_LAPSES } from '../../core/rules/sending/retries.ts'
import { idIsChosen } from '../db/dialect.ts'
import { field, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { type JobKind, kinds } from './job-kinds.ts'
import { waitsIn } from './turns.ts'

const COUNTS = mapping({
  kind: field.plain<JobKind>(),
  /** Jobs that are due or scheduled. */
  waiting: field.number,
  running: field.number,
  /** Jobs discarded after their last attempt. An operator has to retry or delete them. */
  discarded: field.number,
  /** Jobs quarantined because their worker stopped or hung each time. An operator has to retry or delete them. */
  quarantined: field.number,
  /** The earliest due time of a waiting job, or `null` if none is waiting. */
  oldestRunAt: field.optionalTime,
})

export interface BacklogCounts extends RecordOf<typeof COUNTS> {}

const FAILED = mapping({
  id: field.text,
  workspaceId: field.text,
  kind: field.plain<JobKind>(),
  subject: field.text,
  correlationId: field.optionalText,
  attempts: field.number,
  failedAt: field.time,
  error: field.inColumn('last_error', field.text),
})

export interface FailedJob extends RecordOf<typeof FAILED> {
  state: 'discarded' | 'quarantined'
}

export interface FailedJobFilter {
  /** The workspace of the jobs. By default, jobs of all workspaces match, which is for operators. */
  workspaceId?: string | undefined
  ids?: string[] | undefined
}

export interface JobsOfIdentity {
  kind: JobKind
  platform: Platform
  identityId: string | null
}

export const isQuarantined = `lapses >= ${MAX_JOB_LAPSES}`

/** The maximum number of jobs that one statement postpones or makes due. */
const MAX_MOVED = 5_000

export class Backlog extends Repository {
  async counts(): Promise<BacklogCounts[]> {
    const waits = 'claim_token is null and failed_at is null'
    const counts = this.db('jobs')
      .groupBy('kind')
      .orderBy('kind')
      .select(
        'kind',
        this.db.raw(`sum(case when ${waits} then 1 else 0 end) as waiting`),
        this.db.raw('count(claim_token) as running'),
        this.db.raw(`sum(case when failed_at is not null and not ${isQuarantined} then 1 else 0 end) as discarded`),
        this.db.raw(`sum(case when failed_at is not null and ${isQuarantined} then 1 else 0 end) as quarantined`),
        this.db.raw(`min(case when ${waits} then run_at end) as oldest_run_at`),
      )
    return listRecords(counts, COUNTS.read)
  }

  /** Returns discarded and quarantined jobs, the newest failure first. */
  async listFailed(filter: FailedJobFilter, limit: number): Promise<FailedJob[]> {
    const failed = this.failed(filter).orderBy('failed_at', 'desc').orderBy('id', 'desc').limit(limit)
    return listRecords(failed, (row: RowOf<typeof FAILED> & { lapses: number }) => ({
      ...FAILED.read(row),
      state: row.lapses >= MAX_JOB_LAPSES ? 'quarantined' : 'discarded',
    }))
  }

  /**
   * Makes discarded or quarantined jobs due as if they had never been tried. Returns the number of jobs. Jobs that were quarantined run
   * one at a time, and are quarantined again at the next lapse.
   */
  async requeue(ids: string[], at: Date): Promise<number> {
    const lapses = this.db.raw(`case when ${isQuarantined} then ${MAX_JOB_LAPSES - 1} else lapses end`)
    return this.failed({ ids }).update({ failed_at: null, attempts: 0, lapses, run_at: at.getTime() })
  }

  async delete(ids: string[]): Promise<number> {
    return this.failed({ ids }).delete()
  }

  /**
   * Postpones due jobs of a kind for passes of one identity, so that the jobs of other identities can run. Postpones at
   * most 5,000 jobs per priority, the oldest first.
   */
  holdBack(workspaceId: string, jobs: JobsOfIdentity, { at, until }: { at: Date; until: Date }): Promise<void> {
    return this.move(workspaceId, jobs, { after: 0, to: at.getTime(), runAt: until.getTime() })
  }

  /** Makes jobs due that `holdBack` postponed: at most 5,000 per priority, the earliest first. */
  bringForward(workspaceId: string, jobs: JobsOfIdentity, { at, until }: { at: Date; until: Date }): Promise<void> {
    return this.move(workspaceId, jobs, { after: at.getTime(), to: until.getTime(), runAt: at.getTime() })
  }

  private async move(
    workspaceId: string,
    { kind, platform, identityId }: JobsOfIdentity,
    { after, to, runAt }: { after: number; to: number; runAt: number },
  ): Promise<void> {
    const { queue, priorities } = kinds[kind]
    const isOfIdentity = `${platform}_identity_id ${identityId === null ? 'is null' : '= :identityId'}`
    const isOfPass = `(select 1 from passes where id = jobs.subject and workspace_id = jobs.workspace_id and ${isOfIdentity}) = 1`
    for (const priority of priorities) {
      const values = { queue, priority, after, to, ...(identityId !== null && { identityId }) }
      const chosen = this.db('jobs')
        .where({ workspace_id: workspaceId, kind })
        .whereRaw(`${waitsIn(queue)} and run_at > :after and run_at <= :to and ${isOfPass}`, values)
        .orderBy('run_at')
        .limit(MAX_MOVED)
        .select('id')
      await this.db('jobs').whereRaw(idIsChosen(this.db, chosen.forUpdate().skipLocked())).update({ run_at: runAt })
    }
  }

  private failed({ workspaceId, ids }: FailedJobFilter) {
    const query = this.db('jobs').whereNotNull('failed_at')
    if (workspaceId !== undefined) query.where('workspace_id', workspaceId)
    if (ids !== undefined) query.whereIn('id', ids)
    return query
  }
}
