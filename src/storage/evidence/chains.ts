import { groupBy } from '../../core/group-by.ts'
import { formatUuid, idBound, parseUuid } from '../../core/ids.ts'
import { type ChainName, chainNames, type Head } from '../../core/rules/evidence/chain.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { bindIds, isAmong } from '../db/dialect.ts'
import { runPrepared, runSilently } from '../db/prepared.ts'
import { type Field, field, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { randomBytes } from '../db/values.ts'
import { chainedTables, type Entry, readEntries } from './entries.ts'

/** The workspace ID in chains of entries that concern the whole database. */
export const WHOLE_DATABASE = NIL_UUID

export interface ChainKey {
  workspaceId: string
  chain: ChainName
}

/** The fields of entries that were written or queued together. */
const together = {
  workspaceId: field.text,
  chain: field.plain<ChainName>(),
  /**
   * Whether `adopt` queued the entries, because they are older than the chain or an older version of the program wrote
   * them.
   */
  isAdopted: field.inColumn('adopted', field.flag),
}

const PENDING = mapping({ id: field.text, ...together, entryIds: field.json<string[]>() })

/** A row of the queue of entries to chain: the entries that one statement wrote, or that one call of `adopt` queued. */
export interface PendingEntries extends RecordOf<typeof PENDING> {}

export const BLOCK = mapping({
  ...together,
  firstSequence: field.number,
  entryIds: packed(16, formatUuid, parseUuid),
  digests: packed(
    32,
    (digest) => digest,
    (digest) => digest,
  ),
})

/** Entries that were chained together, in order. */
export interface Block extends RecordOf<typeof BLOCK> {}

/** A list of values of equal size, which is stored as one sequence of bytes. */
function packed<Value>(
  size: number,
  parse: (bytes: Uint8Array) => Value,
  format: (value: Value) => Uint8Array,
): Field<Value[], Uint8Array> {
  return {
    read: (stored) =>
      Array.from({ length: Math.ceil(stored.length / size) }, (_, n) =>
        parse(stored.subarray(n * size, (n + 1) * size)),
      ),
    write: (values) => Buffer.concat(values.map(format)),
  }
}

/** The length of a salt: 128 random bits, so that erased values cannot be guessed from their commitment. */
export const SALT_BYTES = 16

/** The chains of digests over immutable entries (decisions/0022). */
export class Chains extends Repository {
  /**
   * Queues entries for their chain. Call it in the transaction that wrote the entries with `chained` set. Writes only
   * one row for all entries, to keep the cost of a group of scans low.
   */
  async insertPending(workspaceId: string | null, chain: ChainName, entryIds: string[]): Promise<void> {
    if (entryIds.length === 0) return
    await insertRows(this.db, 'chain_pending', [toPendingRow(workspaceId, { chain, isAdopted: false, entryIds })])
  }

  async hasPending(): Promise<boolean> {
    if (await this.db('chain_pending').first('id')) return true
    for (const chain of chainNames) if (await this.unchained(chain).first('id')) return true
    return false
  }

  /**
   * Queues the oldest entries whose column `chained` is false, and sets the column. Such entries are older than the
   * chain, or an older version of the program wrote them. Skips entries that another server has locked.
   * @returns the number of entries
   */
  async adopt(chain: ChainName, limit: number): Promise<number> {
    const { table, personal } = chainedTables[chain]
    const oldest = this.unchained(chain).orderBy('id').limit(limit)
    const rows: { id: string; workspace_id: string | null }[] = await oldest
      .forUpdate()
      .skipLocked()
      .select('id', 'workspace_id')
    if (rows.length === 0) return 0
    const random = randomBytes(this.db, SALT_BYTES)
    const salt = personal.length > 0 ? `, salt = case when commitment is null then ${random} end` : ''
    const ids = rows.map(({ id }) => id)
    await runPrepared(
      this.db,
      `adopt-${chain}`,
      { ids: bindIds(this.db, ids) },
      () => `update ${table} set chained = true${salt} where ${isAmong(this.db, 'id', 'ids')}`,
    )
    const pending = [...groupBy(rows, ({ workspace_id }) => workspace_id)].map(([workspaceId, entries]) =>
      toPendingRow(workspaceId, { chain, isAdopted: true, entryIds: entries.map(({ id }) => id) }),
    )
    await insertRows(this.db, 'chain_pending', pending)
    return rows.length
  }

  private unchained(chain: ChainName) {
    // Write the condition as in the partial index. Otherwise, SQLite would not use the index.
    return this.db(chainedTables[chain].table).whereRaw('not chained')
  }

  /**
   * Returns about `limit` of the oldest pending entries, except those of broken chains. Locks their rows of the queue
   * until the transaction ends, and skips rows that another server has locked.
   */
  async takePending(limit: number, broken: ChainKey[] = []): Promise<PendingEntries[]> {
    const query = this.db('chain_pending').orderBy('id').limit(limit)
    for (const { workspaceId, chain } of broken) query.whereNot({ workspace_id: workspaceId, chain })
    const rows: RowOf<typeof PENDING>[] = await query.forUpdate().skipLocked()
    const pending: PendingEntries[] = []
    for (let taken = 0; taken < limit && pending.length < rows.length; taken += pending.at(-1)!.entryIds.length) {
      pending.push(PENDING.read(rows[pending.length]!))
    }
    return pending
  }

  /** Deletes rows of the queue. Call it after their entries were chained or found to be missing. */
  async deletePending(ids: string[]): Promise<void> {
    await runSilently(
      this.db,
      'delete-chain-pending',
      { ids: bindIds(this.db, ids) },
      () => `delete from chain_pending where ${isAmong(this.db, 'id', 'ids')}`,
    )
  }

  readEntries(chain: ChainName, ids: string[]): Promise<Map<string, Entry>> {
    return readEntries(this.db, chain, ids)
  }

  async insertBlocks(blocks: Block[]): Promise<void> {
    const rows = blocks.map((block) => BLOCK.write(block))
    await insertRows(this.db, 'chain_blocks', rows)
  }

  /** Returns the audit chains whose first block contains only expired entries. */
  async listTrimmable(before: Date): Promise<ChainKey[]> {
    const heads: (ChainKey & { baseSequence: number })[] = await this.db('chain_heads')
      .where({ chain: 'audit' })
      .where('sequence', '>', 0)
      .select({ workspaceId: 'workspace_id', chain: 'chain', baseSequence: 'base_sequence' })
    const keys: ChainKey[] = []
    for (const { baseSequence, ...key } of heads) {
      const [first] = await this.listBlocks(key, baseSequence, 1)
      if (first && isOlder(first, before)) keys.push(key)
    }
    return keys
  }

  /**
   * Deletes the expired blocks at the start of a chain, and returns the last deleted block; `undefined` if none has
   * expired. The caller must have locked the head.
   */
  async deleteFirst(head: Head, before: Date, limit: number): Promise<Block | undefined> {
    const { workspaceId, chain, baseSequence } = head
    const blocks = await this.listBlocks({ workspaceId, chain }, baseSequence, limit)
    const kept = blocks.findIndex((block) => !isOlder(block, before))
    const last = kept === 0 ? undefined : blocks.at(kept < 0 ? -1 : kept - 1)
    if (!last) return undefined
    await this.db('chain_blocks')
      .where({ workspace_id: workspaceId, chain })
      .where('first_sequence', '<=', last.firstSequence)
      .delete()
    return last
  }

  /** Returns the next blocks of a chain after a sequence, in order. */
  async listBlocks({ workspaceId, chain }: ChainKey, after: number, limit: number): Promise<Block[]> {
    const blocks = this.db('chain_blocks')
      .where({ workspace_id: workspaceId, chain })
      .where('first_sequence', '>', after)
      .orderBy('first_sequence')
      .limit(limit)
    return listRecords(blocks, BLOCK.read)
  }
}

function toPendingRow(
  workspaceId: string | null,
  entries: Pick<PendingEntries, 'chain' | 'isAdopted' | 'entryIds'>,
): RowOf<typeof PENDING> {
  const [id] = entries.entryIds as [string]
  return PENDING.write({ id, workspaceId: workspaceId ?? WHOLE_DATABASE, ...entries })
}

function isOlder({ entryIds }: Block, before: Date): boolean {
  const bound = idBound(before.getTime())
  return entryIds.every((id) => id < bound)
}
