import { type ChainName, GENESIS } from '../../core/rules/evidence/chain.ts'
import type { SignedHead } from '../../core/rules/evidence/verification.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { type Field, field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import type { ChainKey } from './chains.ts'

const KEYS = mapping({ workspaceId: field.text, publicKey: field.text, sealedKey: field.text })

/** The signing keys of a workspace: the public key as PEM, and the private key, sealed with the server key. */
export interface ChainKeys extends RecordOf<typeof KEYS> {}

const HOUR_MS = 3_600_000

/** The signed heads of evidence chains, and the keys that sign the heads (decisions/0022). */
export class ChainHeads extends Repository {
  /** Locks the heads of chains until the transaction ends, in one order to avoid deadlocks. Creates missing heads. */
  async lock(keys: ChainKey[]): Promise<SignedHead[]> {
    const pairs = keys.map(({ workspaceId, chain }) => [workspaceId, chain])
    const ofKeys = this.db('chain_heads').whereIn(['workspace_id', 'chain'], pairs)
    const query = ofKeys.orderBy(['workspace_id', 'chain']).forUpdate()
    const heads = await listRecords(query.clone(), HEAD.read)
    if (heads.length === keys.length) return heads
    const sorted = keys.toSorted((a, b) => compare(a.workspaceId, b.workspaceId) || compare(a.chain, b.chain))
    await insertRows(
      this.db,
      'chain_heads',
      sorted.map((key) => HEAD.write(beginning(key))),
      'on conflict (workspace_id, chain) do nothing',
    )
    return listRecords(query.clone(), HEAD.read)
  }

  /** Writes each head as the current head of its chain, and as the last head of its hour. */
  async save(heads: SignedHead[]): Promise<void> {
    const rows = heads.map((head) => HEAD.write(head))
    const [first] = rows
    if (!first) return
    const set = Object.keys(first).map((column) => `${column} = excluded.${column}`)
    await insertRows(this.db, 'chain_heads', rows, `on conflict (workspace_id, chain) do update set ${set.join(', ')}`)
    await insertRows(
      this.db,
      'chain_signed_heads',
      rows.map((row) => ({ ...row, hour: Math.floor(row.signed_at / HOUR_MS) })),
      `on conflict (workspace_id, chain, hour) do update set ${set.join(', ')}`,
    )
  }

  /** Returns the keys of a workspace; `undefined` before its first entry is chained. */
  async findKeys(workspaceId: string): Promise<ChainKeys | undefined> {
    return findRecord(this.db('chain_keys').where({ workspace_id: workspaceId }), KEYS.read)
  }

  async listKeys(): Promise<ChainKeys[]> {
    return listRecords(this.db('chain_keys'), KEYS.read)
  }

  /** Inserts the keys of a workspace unless it has keys. Returns the stored keys. */
  async insertKeys(workspaceId: string, keys: Omit<ChainKeys, 'workspaceId'>): Promise<ChainKeys> {
    const row = KEYS.write({ workspaceId, ...keys })
    await this.db('chain_keys').insert(row).onConflict('workspace_id').ignore()
    return (await this.findKeys(workspaceId))!
  }

  async resealKey(workspaceId: string, sealedKey: string): Promise<void> {
    await this.db('chain_keys').where({ workspace_id: workspaceId }).update({ sealed_key: sealedKey })
  }
}

/** A field for a digest or a signature, which is written as a buffer because both drivers accept buffers. */
const bytes: Field<Uint8Array, Uint8Array> = { read: (stored) => stored, write: (value) => Buffer.from(value) }

export const HEAD = mapping({
  workspaceId: field.text,
  chain: field.plain<ChainName>(),
  sequence: field.number,
  digest: bytes,
  baseSequence: field.number,
  baseDigest: bytes,
  retainedFrom: field.number,
  signedAt: field.number,
  signature: bytes,
})

export type HeadRow = RowOf<typeof HEAD>

/** Returns the unsigned head of an empty chain. */
function beginning({ workspaceId, chain }: ChainKey): SignedHead {
  const none = { sequence: 0, digest: GENESIS, baseSequence: 0, baseDigest: GENESIS, retainedFrom: 0, signedAt: 0 }
  return { workspaceId, chain, ...none, signature: new Uint8Array() }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}
