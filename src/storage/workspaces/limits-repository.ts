import type { Knex } from 'knex'
import {
  defaultLimits,
  type LimitName,
  limitNames,
  NEAR_PERCENT,
  type StoredLimit,
  type WorkspaceLimits,
} from '../../core/rules/pass/workspace-limits.ts'
import { lockRows } from '../db/dialect.ts'
import { field, mapping, type RowOf } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'

/** The limits of a workspace; null means the default. */
export const LIMITS = mapping(
  Object.fromEntries(limitNames.map((name) => [name, field.optionalNumber])) as Record<
    LimitName,
    typeof field.optionalNumber
  >,
)

export type LimitsRow = RowOf<typeof LIMITS>

export class Limits extends Repository {
  /** Returns the limits of a workspace, including defaults. */
  async find(workspaceId: string): Promise<WorkspaceLimits> {
    return toLimits(await this.db('workspace_limits').where({ workspace_id: workspaceId }).first())
  }

  /** Omitted limits keep their values; null restores the default. */
  async set(workspaceId: string, changes: Partial<Record<LimitName, number | null>>): Promise<void> {
    const row = LIMITS.write(changes)
    await this.db('workspace_limits')
      .insert({ workspace_id: workspaceId, ...row })
      .onConflict('workspace_id')
      .merge(Object.keys(row).length > 0 ? Object.keys(row) : ['workspace_id'])
  }
}

export function toLimits(row: LimitsRow | undefined): WorkspaceLimits {
  const own = row && LIMITS.read(row)
  return Object.fromEntries(limitNames.map((name) => [name, own?.[name] ?? defaultLimits[name]])) as WorkspaceLimits
}

/** The usage counters that database triggers update. Reading them takes constant time. */
export interface StoredUsage {
  passes: number
  /** The bytes of images, definitions of template versions, and variables of passes. */
  storedBytes: number
}

export type WorkspaceUsage = Record<StoredLimit, number>

/** The usage of a limited resource, summed over all workspaces. */
export interface UsageOverview {
  limit: StoredLimit
  total: number
  /** The number of workspaces that have used at least NEAR_PERCENT of their limit. */
  near: number
}

/**
 * The usage of workspaces. Database triggers count resources that can be numerous (decisions/0005). Other resources are
 * counted along an index.
 */
export class Usage extends Repository {
  /**
   * Locks the usage of a workspace until the transaction ends. Call it before you check a limit and write rows.
   * Otherwise, concurrent transactions could exceed the limit together.
   */
  async lock(workspaceId: string): Promise<void> {
    // Use this weaker lock, because `for update` would block inserts of rows that refer to the workspace.
    await lockRows(this.db, () => this.db('workspaces').where({ id: workspaceId }).forNoKeyUpdate().select('id'))
  }

  /** Returns the usage counters that database triggers update (decisions/0005). */
  async findStored(workspaceId: string): Promise<StoredUsage> {
    return (await this.listStored([workspaceId])).get(workspaceId) ?? { passes: 0, storedBytes: 0 }
  }

  /** Returns the usage of several workspaces. Omits workspaces without usage. */
  async listStored(workspaceIds: string[]): Promise<Map<string, StoredUsage>> {
    if (workspaceIds.length === 0) return new Map()
    const rows: (StoredUsage & { id: string })[] = await this.db('workspace_usage')
      .whereIn('workspace_id', workspaceIds)
      .groupBy('workspace_id')
      .select({ id: 'workspace_id', passes: this.db.raw('sum(passes)'), storedBytes: this.db.raw('sum(stored_bytes)') })
    return new Map(rows.map(({ id, ...usage }) => [id, usage]))
  }

  async countWebhooks(workspaceId: string): Promise<number> {
    return countRows(this.db('webhooks').where({ workspace_id: workspaceId }))
  }

  async countDrafts(workspaceId: string, templateId: string): Promise<number> {
    return countRows(this.drafts(workspaceId).where({ template_id: templateId }))
  }

  /** Counts notifications and broadcasts that are scheduled after a time. */
  async countScheduled(workspaceId: string, at: Date): Promise<number> {
    const scheduled = (table: string) =>
      countRows(
        this.db(table).where({ workspace_id: workspaceId, started_at: null }).where('send_at', '>', at.getTime()),
      )
    return (await scheduled('notifications')) + (await scheduled('broadcasts'))
  }

  private waitingJobs() {
    // `created_at > 0` is true for every job. Without this condition, the planner does not use the partial index.
    return this.db('jobs').where({ claim_token: null, failed_at: null }).whereRaw('created_at > 0')
  }

  /** @param atMost the number at which to stop counting; no limit by default */
  async countWaitingJobs(workspaceId: string, atMost?: number): Promise<number> {
    const waiting = this.waitingJobs().where({ workspace_id: workspaceId })
    if (atMost === undefined) return countRows(waiting)
    return countRows(this.db(waiting.select(this.db.raw('1')).limit(atMost).as('some')))
  }

  async read(workspaceId: string, at: Date): Promise<WorkspaceUsage> {
    const drafts = this.drafts(workspaceId).groupBy('template_id').count({ n: '*' }).as('drafts')
    const most = await this.db(drafts).max({ n: 'n' }).first()
    return {
      webhooks: await this.countWebhooks(workspaceId),
      ...(await this.findStored(workspaceId)),
      waitingJobs: await this.countWaitingJobs(workspaceId),
      draftsPerTemplate: most?.n ?? 0,
      scheduledSends: await this.countScheduled(workspaceId, at),
    }
  }

  /** Returns sums for monitoring, with the number (but not the names) of workspaces near a limit. */
  async overview(at: Date): Promise<UsageOverview[]> {
    const perWorkspace = (rows: Knex.QueryBuilder, used = 'count(*)', total = used) =>
      rows.groupBy('workspace_id').select('workspace_id', this.db.raw(`${used} as used, ${total} as total`))
    const stored = (column: string) => perWorkspace(this.db('workspace_usage'), `sum(${column})`)
    const drafts = this.db('template_versions').whereRaw(`stage = 'draft'`).groupBy('workspace_id', 'template_id')
    const draftsPerTemplate = this.db(drafts.select('workspace_id').count({ n: '*' }).as('drafts'))
    const scheduled = ['notifications', 'broadcasts'].map((table) =>
      this.db(table).where({ started_at: null }).where('send_at', '>', at.getTime()).select('workspace_id'),
    )
    const used: Record<StoredLimit, Knex.QueryBuilder> = {
      webhooks: perWorkspace(this.db('webhooks')),
      passes: stored('passes'),
      storedBytes: stored('stored_bytes'),
      waitingJobs: perWorkspace(this.waitingJobs()),
      // The limit is per template, so compare it with the most drafts of any template.
      draftsPerTemplate: perWorkspace(draftsPerTemplate, 'max(n)', 'sum(n)'),
      scheduledSends: perWorkspace(this.db(this.db.unionAll(scheduled).as('scheduled'))),
    }
    const overviews: UsageOverview[] = []
    for (const [limit, rows] of Object.entries(used)) {
      overviews.push(await this.addUp(limit as UsageOverview['limit'], rows))
    }
    return overviews
  }

  private async addUp(limit: UsageOverview['limit'], used: Knex.QueryBuilder): Promise<UsageOverview> {
    const allowed = this.db.raw('coalesce(workspace_limits.:column:, :byDefault)', {
      column: LIMITS.columns[limitNames.indexOf(limit)]!,
      byDefault: defaultLimits[limit],
    })
    const isNear = this.db.raw('used.used * 100 >= :percent * :allowed', { percent: NEAR_PERCENT, allowed })
    const sums = await this.db(used.as('used'))
      .leftJoin('workspace_limits', 'workspace_limits.workspace_id', 'used.workspace_id')
      .first(
        this.db.raw('coalesce(sum(used.total), 0) as total'),
        this.db.raw('coalesce(sum(case when ? then 1 else 0 end), 0) as near', [isNear]),
      )
    return { limit, ...sums }
  }

  /** Returns a query for all drafts of a workspace. Deleted templates keep their drafts, which are included. */
  private drafts(workspaceId: string) {
    return this.db('template_versions').where({ workspace_id: workspaceId }).whereRaw(`stage = 'draft'`)
  }
}
