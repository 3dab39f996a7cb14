import { insertRows, isOneOf, selectForEach } from '../db/bulk-rows.ts'
import { byId, type ListPage, listPage, NEWEST_FIRST, type PageRequest } from '../db/list-query.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const ENTRY = mapping({
  id: field.text,
  passId: field.text,
  name: field.text,
  delta: field.number,
  /** The value of the balance after the entry. */
  value: field.number,
  /** The external reference of the entry; null for entries that scans wrote. */
  externalRef: field.optionalText,
  reason: field.optionalText,
  /** The scan, or the reversal of a scan, that wrote the entry. */
  scanId: field.optionalText,
  reversesEntryId: field.optionalText,
  createdAt: field.time,
})

/** A change of a balance. Entries are only added, never changed. */
export interface StoredEntry extends RecordOf<typeof ENTRY> {}

export interface BalanceOfPass {
  passId: string
  name: string
}

/** The entries of balances. Callers of `insert` must lock the passes first, and write the balances' sums. */
export class BalanceEntries extends Repository {
  async find(workspaceId: string, { passId, name }: BalanceOfPass, id: string): Promise<StoredEntry | undefined> {
    return findRecord(this.ofBalance(workspaceId, { passId, name }).where({ id }), ENTRY.read)
  }

  list(workspaceId: string, balance: BalanceOfPass, page: PageRequest): Promise<ListPage<StoredEntry>> {
    const request = { ...page, ...NEWEST_FIRST, ...balance }
    return listPage(this.db, this.ofBalance(workspaceId, balance), byId('balance_entries'), request, ENTRY.read)
  }

  /** Returns the entries with the given external references, in any order. */
  async listByRefs(
    workspaceId: string,
    refs: (BalanceOfPass & Pick<StoredEntry, 'externalRef'>)[],
  ): Promise<StoredEntry[]> {
    const lookup = {
      name: 'balance-entries-by-ref',
      given: { pass_id: 'uuid', name: 'text', external_ref: 'text' } as const,
      items: refs.map(({ passId, name, externalRef }) => ({ pass_id: passId, name, external_ref: externalRef })),
    }
    const rows = await selectForEach<RowOf<typeof ENTRY> & { n: number }>(
      this.db,
      workspaceId,
      lookup,
      `select n, ${ENTRY.columns.map((column) => `e.${column}`).join(', ')} from given join balance_entries e
        on e.workspace_id = given.workspace_id and e.pass_id = given.pass_id and e.name = given.name
        and e.external_ref = given.external_ref`,
    )
    return rows.map(ENTRY.read)
  }

  async listOfScan(workspaceId: string, scanId: string): Promise<StoredEntry[]> {
    return listRecords(this.db('balance_entries').where({ workspace_id: workspaceId, scan_id: scanId }), ENTRY.read)
  }

  async listReversals(workspaceId: string, entryIds: string[]): Promise<StoredEntry[]> {
    const ofWorkspace = this.db('balance_entries').where({ workspace_id: workspaceId })
    return listRecords(ofWorkspace.where(isOneOf(this.db, 'reverses_entry_id', entryIds)), ENTRY.read)
  }

  async insert(workspaceId: string, entries: StoredEntry[]): Promise<void> {
    const rows = entries.map((entry) => ({ ...ENTRY.write(entry), workspace_id: workspaceId }))
    await insertRows(this.db, 'balance_entries', rows)
  }

  private ofBalance(workspaceId: string, { passId, name }: BalanceOfPass) {
    return this.db('balance_entries').where({ workspace_id: workspaceId, pass_id: passId, name })
  }
}
