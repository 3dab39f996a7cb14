import type { Knex } from 'knex'
import type { WorkspaceLimits } from '../../core/rules/pass/workspace-limits.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { LIMITS, type LimitsRow, type StoredUsage, toLimits } from './limits-repository.ts'

const CALLER = mapping({
  name: field.inColumn('workspace_name', field.text),
  suspendedAt: field.inColumn('workspace_suspended_at', field.optionalTime),
  expiresAt: field.inColumn('workspace_expires_at', field.optionalTime),
  offlineScanning: field.flag,
})

/** The properties of a workspace that every request to the workspace needs. */
export interface CallerWorkspace extends RecordOf<typeof CALLER> {
  limits: WorkspaceLimits
  usage: StoredUsage
}

export interface CallerWorkspaceRow extends RowOf<typeof CALLER>, LimitsRow {}

export const NO_USAGE: StoredUsage = { passes: 0, storedBytes: 0 }

/** Joins the workspace of each row, and selects the columns of `CallerWorkspaceRow`. */
export function selectWorkspace(query: Knex.QueryBuilder, table: 'tokens' | 'sessions'): Knex.QueryBuilder {
  return query
    .join('workspaces', 'workspaces.id', `${table}.workspace_id`)
    .leftJoin('workspace_limits', 'workspace_limits.workspace_id', `${table}.workspace_id`)
    .select(LIMITS.from('workspace_limits'), {
      workspace_name: 'workspaces.name',
      workspace_suspended_at: 'workspaces.suspended_at',
      workspace_expires_at: 'workspaces.expires_at',
      offline_scanning: 'workspaces.offline_scanning',
    })
}

export function toWorkspace(row: CallerWorkspaceRow, usage: StoredUsage = NO_USAGE): CallerWorkspace {
  return { ...CALLER.read(row), limits: toLimits(row), usage }
}
