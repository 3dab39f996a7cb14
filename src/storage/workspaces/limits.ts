import type { Knex } from 'knex'
import { defaultLimits, type LimitName, limitNames, type WorkspaceLimits } from '../../core/rules/pass/limits.ts'

/** The columns of a workspace's limits; null where the default holds. */
export type LimitsRow = Partial<Record<(typeof columns)[LimitName], number | null>>

const columns = {
  webhooks: 'webhooks',
  passes: 'passes',
  storedBytes: 'stored_bytes',
  waitingJobs: 'waiting_jobs',
  draftsPerTemplate: 'drafts_per_template',
  scheduledSends: 'scheduled_sends',
  requestsInFlight: 'requests_in_flight',
} as const satisfies Record<LimitName, string>

/** The column that holds a limit. */
export function limitColumn(name: LimitName): string {
  return columns[name]
}

/** What operators allow each workspace. */
export class Limits {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async find(workspaceId: string): Promise<WorkspaceLimits> {
    return toLimits(await this.db('workspace_limits').where({ workspace_id: workspaceId }).first())
  }

  /** What is left out stays as it is; null goes back to the default. */
  async set(workspaceId: string, changes: Partial<Record<LimitName, number | null>>): Promise<void> {
    const row = Object.fromEntries(
      limitNames.filter((name) => changes[name] !== undefined).map((name) => [columns[name], changes[name]]),
    )
    await this.db('workspace_limits')
      .insert({ workspace_id: workspaceId, ...row })
      .onConflict('workspace_id')
      .merge(Object.keys(row).length > 0 ? Object.keys(row) : ['workspace_id'])
  }
}

export function toLimits(row: LimitsRow | undefined): WorkspaceLimits {
  return Object.fromEntries(
    limitNames.map((name) => [name, row?.[columns[name]] ?? defaultLimits[name]]),
  ) as WorkspaceLimits
}
