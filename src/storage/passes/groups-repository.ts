import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import { MAX_GROUP_AT_DOOR } from '../../core/rules/door/group-at-door.ts'
import { beginningOf } from '../../core/rules/lists/cursor.ts'
import { selectForEach } from '../db/bulk-rows.ts'
import { beginningColumn, joinChosenPasses } from '../db/dialect.ts'
import { field, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { NO_CONTEXT } from '../scans/accepted-scans.ts'
import { type StoredPass, selectPass, toPass } from './pass-row.ts'

/** A group whose passes a door lists. A pass counts as used if it was accepted in the scan context. */
export interface GroupAtDoor {
  groupId: string
  scanContextKey: string | null
}

const MEMBER = mapping({
  passId: field.text,
  externalPassId: field.text,
  label: field.text,
  /** The stored status, which can still be ISSUED after `expiresAt`. */
  status: field.plain<PassStatus>(),
  expiresAt: field.optionalTime,
  isUsed: field.flag,
})

export interface GroupMemberRow extends RecordOf<typeof MEMBER> {}

interface MemberColumns extends RowOf<typeof MEMBER> {
  n: number
}

/** Groups of passes. A group exists while it has a pass. */
export class Groups extends Repository {
  /** Returns the link generations of groups. Omits groups whose links were never revoked. */
  async listGenerations(workspaceId: string, groupIds: string[]): Promise<Map<string, number>> {
    if (groupIds.length === 0) return new Map()
    const rows: { group_id: string; generation: number }[] = await this.db('group_links')
      .where({ workspace_id: workspaceId })
      .whereIn('group_id', groupIds)
      .select('group_id', 'generation')
    return new Map(rows.map((row) => [row.group_id, row.generation]))
  }

  /** Returns `undefined` for an unknown workspace. */
  async findLinkState(workspaceId: string, groupId: string) {
    const row: { generation: number | null; links_closed_at: number | null } | undefined = await this.db('workspaces')
      .leftJoin('group_links', (join) => {
        join.on('group_links.workspace_id', 'workspaces.id').andOnVal('group_links.group_id', groupId)
      })
      .where('workspaces.id', workspaceId)
      .first('group_links.generation', 'workspaces.links_closed_at')
    return row && { generation: row.generation ?? 0, areLinksClosed: row.links_closed_at !== null }
  }

  async raiseLinkGeneration(workspaceId: string, groupId: string): Promise<void> {
    await this.db('group_links')
      .insert({ workspace_id: workspaceId, group_id: groupId, generation: 1 })
      .onConflict('group_id')
      .merge({ generation: this.db.raw('group_links.generation + 1') })
      .where('group_links.workspace_id', workspaceId)
  }

  /** Returns the group's passes that can be added to wallets, in the order of their IDs, starting at `from`. */
  async listInstallable(
    workspaceId: string,
    groupId: string,
    { from, limit }: { from?: string | undefined; limit: number },
    at: Date,
  ): Promise<StoredPass[]> {
    const members = this.db('passes')
      .where({ 'passes.group_id': groupId, 'passes.workspace_id': workspaceId })
      // Repeat the condition of the index `passes_installable_of_group`. Otherwise, the planner does not use the index.
      .whereRaw(`passes.status in ('QUEUED', 'ISSUING', 'ISSUED')`)
      .whereRaw(`(passes.status <> 'ISSUED' or passes.expires_at is null or passes.expires_at > ?)`, [at.getTime()])
      .orderBy('passes.id')
      .limit(limit)
    if (from !== undefined) members.where('passes.id', '>=', from)
    return listRecords(selectPass(this.db, members), toPass)
  }

  /** Returns the first passes of each group by ID, up to one more than a door shows, to detect a larger group. */
  async listAtDoor(workspaceId: string, asked: GroupAtDoor[]): Promise<GroupMemberRow[][]> {
    const items = asked.map(({ groupId, scanContextKey }) => ({
      group_id: groupId,
      context: scanContextKey ?? NO_CONTEXT,
    }))
    const rows = await selectForEach<MemberColumns>(
      this.db,
      workspaceId,
      { name: 'groups-at-door', given: { group_id: 'uuid', context: 'text' }, items },
      atDoorSql(this.db),
    )
    const members: GroupMemberRow[][] = asked.map(() => [])
    for (const row of rows) members[row.n]!.push(MEMBER.read(row))
    return members
  }
}

function atDoorSql(db: Knex): string {
  const first = `select id from passes
    where group_id = given.group_id and workspace_id = given.workspace_id order by id limit ${MAX_GROUP_AT_DOOR + 1}`
  return `select n, passes.id as pass_id, external_pass_id, label, status, expires_at,
      exists (select 1 from accepted_scans where accepted_scans.workspace_id = given.workspace_id
        and pass_id = passes.id and scan_context_key = given.context) as is_used
    from given ${joinChosenPasses(db, first)} order by n, passes.id`
}

/**
 * Restricts a query to the passes whose group key is `key`. Also compares the beginning of the key, because only the
 * beginning has an index.
 */
export function whereGroupKey(db: Knex, query: Knex.QueryBuilder, key: string): Knex.QueryBuilder {
  const beginning = beginningColumn(db, 'passes.group_key')
  return query.whereRaw(`${beginning} = ?`, [beginningOf(key)]).where('passes.group_key', key)
}
