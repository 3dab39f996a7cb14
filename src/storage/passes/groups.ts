import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'
import { type PassRow, type StoredPass, selectPass, toPass, UNISSUED } from './pass-row.ts'

/** What a link to a group is held against. */
export interface GroupLinkState {
  generation: number
  /** No link of the workspace opens. */
  areLinksClosed: boolean
}

/** Groups of passes; they are there as long as a pass is in them. */
export class Groups {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** The generations of links by group, of those that were ever revoked. */
  async listGenerations(workspaceId: string, groupIds: string[]): Promise<Map<string, number>> {
    if (groupIds.length === 0) return new Map()
    const rows: { group_id: string; generation: number }[] = await this.db('group_links')
      .where({ workspace_id: workspaceId })
      .whereIn('group_id', groupIds)
      .select('group_id', 'generation')
    return new Map(rows.map((row) => [row.group_id, row.generation]))
  }

  /** Undefined where there is no such workspace. */
  async findLinkState(workspaceId: string, groupId: string): Promise<GroupLinkState | undefined> {
    const row: { generation: number | null; links_closed_at: number | null } | undefined = await this.db('workspaces')
      .leftJoin('group_links', (join) => {
        join.on('group_links.workspace_id', 'workspaces.id').andOnVal('group_links.group_id', groupId)
      })
      .where('workspaces.id', workspaceId)
      .first('group_links.generation', 'workspaces.links_closed_at')
    return row && { generation: row.generation ?? 0, areLinksClosed: row.links_closed_at !== null }
  }

  /** Kills every link to the group that was made so far. */
  async raiseLinkGeneration(workspaceId: string, groupId: string): Promise<void> {
    await this.db('group_links')
      .insert({ workspace_id: workspaceId, group_id: groupId, generation: 1 })
      .onConflict('group_id')
      .merge({ generation: this.db.raw('group_links.generation + 1') })
      .where('group_links.workspace_id', workspaceId)
  }

  /** Passes of the group that may be added to wallets, in the order of their ids, from one of them on. */
  async listInstallable(
    workspaceId: string,
    groupId: string,
    { from, limit }: { from?: string | undefined; limit: number },
    at: Date,
  ): Promise<StoredPass[]> {
    const isLiving = `passes.expires_at is null or passes.expires_at > ?`
    const members = this.db('passes')
      .where({ 'passes.group_id': groupId, 'passes.workspace_id': workspaceId })
      .where((installable) => {
        installable
          .whereIn('passes.status', UNISSUED)
          .orWhere((issued) => issued.where('passes.status', 'ISSUED').whereRaw(`(${isLiving})`, [at.getTime()]))
      })
      .orderBy('passes.id')
      .limit(limit)
    if (from !== undefined) members.where('passes.id', '>=', from)
    const rows: PassRow[] = await selectPass(this.db, members)
    return rows.map(toPass)
  }
}

/** What a list sorts by: the beginning of the key, and behind all keys what has none. */
export function groupSortKey(db: Knex): string {
  if (!isPostgres(db)) return 'passes.group_sort'
  return `(case when passes.group_key is null then chr(1114111)
    when octet_length(passes.group_key) <= 320 then passes.group_key else substr(passes.group_key, 1, 80) end)`
}
