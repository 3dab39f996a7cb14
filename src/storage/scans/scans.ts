import type { Knex } from 'knex'
import { insertMany } from '../db/dialect.ts'
import type { ListPage } from '../db/list.ts'
import type { Tell } from '../operations/news.ts'
import { listScans, type ScanListRequest } from './scan-list.ts'
import { type ScanRow, type StoredScan, toScan, toScanRow } from './scan-row.ts'
import { countScans, type ScanFigures, type ScanStatsRequest } from './scan-stats.ts'

/** The ledger: every attempt and every reversal. The database itself refuses to change or delete what stands in it. */
export class Scans {
  private readonly db: Knex
  private readonly tell: Tell

  constructor(db: Knex, tell: Tell) {
    this.db = db
    this.tell = tell
  }

  /**
   * Returns the ids of the scans that are new: one whose externalRef is taken, by a row of before or of a racing request,
   * is passed over.
   */
  async insert(workspaceId: string, scans: StoredScan[]): Promise<Set<string>> {
    const rows = await insertMany<{ id: string }>(
      this.db,
      'scans',
      // One order for everyone, so that two sets that hold the same externalRefs never wait for each other.
      scans.toSorted(byExternalRef).map((scan) => toScanRow(workspaceId, scan)),
      'on conflict (workspace_id, external_ref) do nothing returning id',
    )
    const inserted = new Set(rows.map((row) => row.id))
    for (const { id, result, reason, verified } of scans) {
      if (inserted.has(id)) this.tell({ what: 'scan', result, reason, verified })
    }
    return inserted
  }

  async find(workspaceId: string, id: string): Promise<StoredScan | undefined> {
    const row: ScanRow | undefined = await this.db('scans').where({ workspace_id: workspaceId, id }).first()
    return row && toScan(row)
  }

  async listByExternalRefs(workspaceId: string, externalRefs: string[]): Promise<StoredScan[]> {
    const rows: ScanRow[] = await this.db('scans')
      .where({ workspace_id: workspaceId })
      .whereIn('external_ref', externalRefs)
      .select()
    return rows.map(toScan)
  }

  list(workspaceId: string, request: ScanListRequest): Promise<ListPage<StoredScan>> {
    return listScans(this.db, workspaceId, request)
  }

  /** Figures by project. */
  counts(workspaceId: string, request: ScanStatsRequest): Promise<Map<string | null, ScanFigures>> {
    return countScans(this.db, workspaceId, request)
  }
}

function byExternalRef({ externalRef: a }: StoredScan, { externalRef: b }: StoredScan): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null)
  return a < b ? -1 : Number(a > b)
}
