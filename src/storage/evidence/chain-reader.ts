import { type ChainName, chainNames } from '../../core/rules/evidence/chain.ts'
import type { ChainedEntry, SignedHead } from '../../core/rules/evidence/verification.ts'
import { findRecord, listRecords } from '../db/record.ts'
import { countRows, Repository } from '../db/repository.ts'
import { asJson } from '../db/values.ts'
import { HEAD, type HeadRow } from './chain-heads.ts'
import { BLOCK, type ChainKey, Chains, WHOLE_DATABASE } from './chains.ts'
import { chainedTables, readEntries } from './entries.ts'

/** An entry that might be missing from its chain. */
export interface UnchainedEntry {
  id: string
  workspaceId: string
}

export class ChainReader extends Repository {
  /** Returns the chains that have a head, a block, or an hourly head. */
  async listChains(chain: ChainName): Promise<ChainKey[]> {
    const ids = new Set<string>()
    for (const table of ['chain_heads', 'chain_signed_heads', 'chain_blocks']) {
      for (const id of await this.db(table).where({ chain }).distinct('workspace_id').pluck('workspace_id')) ids.add(id)
    }
    return [...ids].sort().map((workspaceId) => ({ workspaceId, chain }))
  }

  async findHead({ workspaceId, chain }: ChainKey): Promise<SignedHead | undefined> {
    return findRecord(this.db('chain_heads').where({ workspace_id: workspaceId, chain }), HEAD.read)
  }

  /** Returns the last head of each hour, oldest first. */
  async listHourlyHeads({ workspaceId, chain }: ChainKey): Promise<(SignedHead & { hour: number })[]> {
    const ofChain = this.db('chain_signed_heads').where({ workspace_id: workspaceId, chain }).orderBy('hour')
    return listRecords(ofChain, (row: HeadRow & { hour: number }) => ({ ...HEAD.read(row), hour: row.hour }))
  }

  /**
   * Returns the entries of the next blocks of a chain, in order, each with the first sequence of its block.
   * @param after the sequence after which the blocks must begin
   */
  async listEntries(
    { workspaceId, chain }: ChainKey,
    after: number,
    limit: number,
  ): Promise<(ChainedEntry & { firstSequence: number })[]> {
    const blocks = await new Chains(this.connected).listBlocks({ workspaceId, chain }, after, limit)
    const ids = blocks.flatMap(({ entryIds }) => entryIds)
    const rows = await readEntries(this.db, chain, ids)
    const { personal } = chainedTables[chain]
    const gone = { fixed: null, personal: Object.fromEntries(personal.map((column) => [column, null])) }
    return blocks.flatMap(({ firstSequence, isAdopted, entryIds, digests }) =>
      // Use the longer list. Otherwise, an entry whose ID or digest is missing in an altered block would be left out.
      Array.from({ length: Math.max(entryIds.length, digests.length) }, (_, n) => {
        const [id, digest] = [entryIds[n] ?? '', digests[n] ?? new Uint8Array()]
        const row = rows.get(id) ?? { ...gone, salt: null, commitment: null }
        return { firstSequence, sequence: firstSequence + n, id, isAdopted, digest, ...row }
      }),
    )
  }

  /** Returns the last sequence in the blocks of a chain; 0 for a chain without blocks. */
  async findLastSequence({ workspaceId, chain }: ChainKey): Promise<number> {
    const newestFirst = this.db('chain_blocks')
      .where({ workspace_id: workspaceId, chain })
      .orderBy('first_sequence', 'desc')
    const last = await findRecord(newestFirst, BLOCK.read)
    return last ? last.firstSequence + last.digests.length - 1 : 0
  }

  /** Returns the next entries, by ID, that are marked as chained. Each of them should be in a block or pending. */
  async listHandedOver(chain: ChainName, after: string, limit: number): Promise<UnchainedEntry[]> {
    const query = this.db(chainedTables[chain].table).where({ chained: true }).orderBy('id').limit(limit)
    if (after !== '') query.where('id', '>', after)
    const rows: { id: string; workspace_id: string | null }[] = await query.select('id', 'workspace_id')
    return rows.map(({ id, workspace_id }) => ({ id, workspaceId: workspace_id ?? WHOLE_DATABASE }))
  }

  async listPendingIds(chain: ChainName): Promise<string[]> {
    const lists: string[] = await this.db('chain_pending').where({ chain }).pluck('entry_ids')
    return lists.flatMap((list): string[] => JSON.parse(list))
  }

  /**
   * Returns the number of entries that are not in a block yet, for one kind of chain or for all. `newCount` and
   * `firstId` cover only entries that were queued when they were written, not entries that `Chains.adopt` queued.
   */
  async findPending(chain?: ChainName): Promise<{ count: number; newCount: number; firstId: string | null }> {
    const length = `json_array_length(${asJson(this.db, 'entry_ids')})`
    const rows: { adopted: boolean | number; entries: number; first_id: string }[] = await this.db('chain_pending')
      .where(chain === undefined ? {} : { chain })
      .groupBy('adopted')
      .select('adopted', this.db.raw(`sum(${length}) as entries, min(cast(id as text)) as first_id`))
    let count = 0
    for (const name of chain === undefined ? chainNames : [chain]) {
      count += await countRows(this.db(chainedTables[name].table).whereRaw('not chained'))
    }
    for (const { entries } of rows) count += entries
    const recent = rows.find(({ adopted }) => !adopted)
    return { count, newCount: recent?.entries ?? 0, firstId: recent?.first_id ?? null }
  }

  async countHeads(): Promise<number> {
    return countRows(this.db('chain_heads').where('sequence', '>', 0))
  }
}
