import type { Knex } from 'knex'
import type { WorkspaceLimits } from '../../core/rules/pass/workspace-limits.ts'
import { toDate } from '../db/dialect.ts'
import { type LimitsRow, limitColumns, type StoredUsage, toLimits } from './limits-repository.ts'

/** The properties of a workspace that every request to the workspace needs. */
export interface CallerWorkspace {
  name: string
  suspendedAt: Date | null
  expiresAt: Date | null
  offlineScanning: boolean
  limits: WorkspaceLimits
  usage: StoredUsage
}

export interface CallerWorkspaceRow extends LimitsRow {
  workspace_name: string
  workspace_suspended_at: number | null
  workspace_expires_at: number | null
  offline_scanning: boolean | 0 | 1
}

export const NO_USAGE: StoredUsage = { passes: 0, storedBytes: 0 }

/** Joins the workspace of each row, and selects the columns of `CallerWorkspaceRow`. */
export function selectWorkspace(query: Knex.QueryBuilder, table: 'tokens' | 'sessions'): Knex.QueryBuilder {
  return query
    .join('workspaces', 'workspaces.id', `${table}.workspace_id`)
    .leftJoin('workspace_limits', 'workspace_limits.workspace_id', `${table}.workspace_id`)
    .select(...limitColumns.map((column) => `workspace_limits.${column}`), {
      workspace_name: 'workspaces.name',
      workspace_suspended_at: 'workspaces.suspended_at',
      workspace_expires_at: 'workspaces.expires_at',
      offline_scanning: 'workspaces.offline_scanning',
    })
}

export function toWorkspace(row: CallerWorkspaceRow, usage: StoredUsage = NO_USAGE): CallerWorkspace {
  return {
    name: row.workspace_name,
    suspendedAt: toDate(row.workspace_suspended_at),
    expiresAt: toDate(row.workspace_expires_at),
    offlineScanning: Boolean(row.offline_scanning),
    limits: toLimits(row),
    usage,
  }
}
