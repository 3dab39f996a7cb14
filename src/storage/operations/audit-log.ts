import type { Knex } from 'knex'
import { type Actor, type AuditAction, targetKind } from '../../core/audit.ts'
import { idBound, idsOf, newId } from '../../core/ids.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { boundColumn } from '../db/dialect.ts'
import { byId, type ListPage, type ListRequest, listPage, NEWEST_FIRST } from '../db/list-query.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository, whereOneOrNull } from '../db/repository.ts'
import { Chains } from '../evidence/chains.ts'

/** A recorded action. Contains no values, secrets, or personal data. */
export interface NewAuditEntry {
  action: AuditAction
  actor: Actor
  /** The ID of the affected row; null if several rows are affected. */
  targetId: string | null
  /** The pass that the action is about, if the target is another row. The history of this pass contains the entry. */
  passId?: string | undefined
  /** The number of affected rows; 1 by default. */
  targetCount?: number
  correlationId: string | null
}

const ENTRY = mapping({
  id: field.text,
  workspaceId: field.optionalText,
  /** The ID of a token or person; null for an operator. */
  tokenId: field.optionalText,
  actor: field.text,
  /** The subject of a person at the identity provider; null for a token or operator. */
  actorSubject: field.optionalText,
  action: field.plain<AuditAction>(),
  targetId: field.optionalText,
  targetCount: field.number,
  correlationId: field.optionalText,
  at: field.inColumn('created_at', field.time),
})

export interface StoredAuditEntry extends RecordOf<typeof ENTRY> {
  targetKind: string
}

type Row = RowOf<typeof ENTRY>

/** Filters of the audit log. All filters must match. The values of one filter are alternatives. */
export interface AuditFilters {
  workspaceId?: string | undefined
  /** IDs of tokens or people; null selects entries by operators. */
  tokenIds?: (string | null)[] | undefined
  actions?: AuditAction[] | undefined
  targetId?: string | undefined
  /** Selects the entries about a pass and about its notifications, balances, scans, and broadcasts. */
  passId?: string | undefined
  /** The earliest time of an entry. Like `until`, it is inclusive. */
  since?: Date | undefined
  until?: Date | undefined
}

export type AuditRequest = AuditFilters & Pick<ListRequest, 'limit' | 'cursor'>

/**
 * The audit log: the actor, action, target, and time of each change. An entry is written in the transaction of its
 * action.
 */
export class AuditLog extends Repository {
  /** @param workspaceId null for an action on the whole database */
  async insert(workspaceId: string | null, entry: NewAuditEntry, at: Date): Promise<void> {
    await this.insertAll(workspaceId, [{ ...entry, at }])
  }

  async insertAll(workspaceId: string | null, entries: (NewAuditEntry & { at: Date })[]): Promise<void> {
    const rows = entries.map(
      ({ actor: { tokenId, name, subject = null }, passId = null, targetCount = 1, ...entry }) => ({
        ...ENTRY.write({
          ...entry,
          id: newId(entry.at),
          workspaceId,
          tokenId,
          actor: name,
          actorSubject: subject,
          targetCount,
        }),
        pass_id: passId,
        chained: true,
      }),
    )
    await insertRows(this.db, 'audit_entries', rows)
    await new Chains(this.connected).insertPending(workspaceId, 'audit', idsOf(rows))
  }

  /** Returns a page of entries, newest first, of all workspaces by default. */
  async list(request: AuditRequest): Promise<ListPage<StoredAuditEntry>> {
    const { workspaceId, tokenIds, actions, targetId, passId, since, until } = request
    const query = this.db('audit_entries')
    const where = (column: string, values: readonly (string | null)[]) => {
      if (values.length === 1) query.where(`audit_entries.${column}`, values[0]!)
      // No index returns the entries of several values newest first. Read the log from its newest entry instead, and
      // filter.
      else {
        const filtered = this.db.raw(boundColumn(this.db, `audit_entries.${column}`))
        whereOneOrNull(query, filtered, values)
      }
    }
    if (workspaceId !== undefined) where('workspace_id', [workspaceId])
    if (targetId !== undefined) where('target_id', [targetId])
    if (passId !== undefined) query.whereIn('audit_entries.id', this.idsOfPass(passId))
    if (tokenIds) where('token_id', tokenIds)
    if (actions) where('action', actions)
    if (since) query.where('audit_entries.id', '>=', idBound(since.getTime()))
    if (until) query.where('audit_entries.id', '<', idBound(until.getTime() + 1))
    return listPage(this.db, query, byId('audit_entries'), { ...request, ...NEWEST_FIRST }, toEntry)
  }

  /**
   * Finds the entry of the request that created several passes at the time `at`. Returns `undefined` if several
   * requests created passes in the same millisecond, because a wrong actor would be worse than no actor.
   */
  async findBatch(workspaceId: string, at: Date): Promise<StoredAuditEntry | undefined> {
    const created: AuditAction[] = ['pass.create', 'pass.import']
    const rows: Row[] = await this.db('audit_entries')
      .where({ workspace_id: workspaceId })
      .whereNull('target_id')
      .whereIn('action', created)
      .where('id', '>=', idBound(at.getTime()))
      .where('id', '<', idBound(at.getTime() + 1))
      .limit(2)
    return rows.length === 1 ? toEntry(rows[0]!) : undefined
  }

  /** Selects the IDs of the entries about a pass. Each page reads and sorts all of them, because a pass has few. */
  private idsOfPass(passId: string): Knex.QueryBuilder {
    const ids = () => this.db('audit_entries').select('id')
    const broadcasts = this.db('notifications').where({ pass_id: passId }).whereNotNull('broadcast_id')
    return ids()
      .where({ pass_id: passId })
      .unionAll([ids().where({ target_id: passId }), ids().whereIn('target_id', broadcasts.select('broadcast_id'))])
  }

  /**
   * Returns an entry for a scan, derived from the ledger; `undefined` if the scan is unknown or was recorded without a
   * token or person.
   */
  async findScan(scanId: string): Promise<StoredAuditEntry | undefined> {
    const row: ScanEntryRow | undefined = await this.db('scans')
      .leftJoin('tokens', 'tokens.id', 'scans.token_id')
      .leftJoin('people', 'people.id', 'scans.token_id')
      .where('scans.id', scanId)
      .first('scans.id', 'scans.workspace_id', 'scans.token_id', 'scans.recorded_at', 'scans.reverses_scan_id', {
        actor: this.db.raw('coalesce(tokens.name, people.email)'),
        actor_subject: 'people.subject',
      })
    if (!row?.actor) return undefined
    const action = row.reverses_scan_id === null ? ('scan.record' as const) : ('scan.reverse' as const)
    const target = { target_id: row.id, target_count: 1, correlation_id: null, created_at: row.recorded_at }
    return toEntry({ ...row, ...target, action })
  }
}

type ScanEntryRow = Pick<Row, 'id' | 'workspace_id' | 'token_id' | 'actor' | 'actor_subject'> & {
  recorded_at: number
  reverses_scan_id: string | null
}

function toEntry(row: Row): StoredAuditEntry {
  return { ...ENTRY.read(row), targetKind: targetKind(row.action) }
}
