import type { Knex } from 'knex'
import { type ChainName, commitmentOf, type EntryValues, hex } from '../../core/rules/evidence/chain.ts'
import { ERASED } from '../../core/rules/evidence/verification.ts'
import { bindIds, isAmong } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { asId, bytesOfHex, elementsOfJson, rowsAsJson, strictValue } from '../db/values.ts'
import { SCAN } from '../scans/scan-row.ts'

/** The columns of a scan that an erasure can clear. The data in any other column of a scan can never be erased. */
const PERSONAL = ['context', 'external_pass_id', 'message', 'payload_digest', 'reversal_reason']

/**
 * The columns of a table that are covered by its evidence chain, sorted by name as canonical JSON requires. All fields
 * of a scan are covered. If a migration adds a column, add the column to `fixed`, or, for a scan, to the mapping `SCAN`,
 * and also to `PERSONAL` if an erasure must clear it. A null column does not change existing digests.
 */
interface ChainedTable {
  table: string
  /** The columns that never change. */
  fixed: readonly string[]
  /** The columns that an erasure can clear; empty if erasures do not affect the table. */
  personal: readonly string[]
}

export const chainedTables: Record<ChainName, ChainedTable> = {
  scans: {
    table: 'scans',
    fixed: [...SCAN.columns, 'workspace_id'].filter((column) => !PERSONAL.includes(column)).sort(),
    personal: PERSONAL,
  },
  audit: {
    table: 'audit_entries',
    fixed: [
      'action',
      'actor',
      'actor_subject',
      'correlation_id',
      'created_at',
      'id',
      'pass_id',
      'target_count',
      'target_id',
      'token_id',
      'workspace_id',
    ],
    personal: [],
  },
}

/** The values of a row from which its digest in the chain is computed. */
export interface Entry {
  fixed: EntryValues
  personal: EntryValues
  /** The salt of the commitment to `personal`; null after an erasure, or if the table has no erasable columns. */
  salt: Uint8Array | null
  /** The commitment to erased values; null before an erasure. */
  commitment: Uint8Array | null
}

/** The columns with bytes, which are hexadecimal in the digested JSON. */
const bytes = new Set(['payload_digest', 'salt', 'commitment'])

/**
 * Returns the entries of a chain by ID. Omits missing entries. Reads each row as one JSON value, because drivers are
 * slow with 30 columns.
 */
export async function readEntries(db: Knex, chain: ChainName, ids: string[]): Promise<Map<string, Entry>> {
  const { table, fixed, personal } = chainedTables[chain]
  const hidden = personal.length > 0 ? ['salt', 'commitment'] : []
  const columns = [...fixed, ...personal, ...hidden]
  const [found] = await runPrepared<{ entries: string }>(db, `read-chained-${chain}`, { ids: bindIds(db, ids) }, () => {
    const values = columns.map((column) => strictValue(db, column, bytes.has(column))).join(', ')
    return `select coalesce(${rowsAsJson(db, values)}, '[]') as entries from ${table} where ${isAmong(db, 'id', 'ids')}`
  })
  const rows: Value[][] = JSON.parse(found!.entries)
  return new Map(
    rows.map((row): [string, Entry] => {
      const values = Object.fromEntries(fixed.map((column, n) => [column, row[n]!]))
      const erasable = Object.fromEntries(personal.map((column, n) => [column, row[fixed.length + n]!]))
      const [salt, commitment] = row.slice(fixed.length + personal.length).map(fromHex)
      return [
        String(values.id),
        { fixed: values, personal: erasable, salt: salt ?? null, commitment: commitment ?? null },
      ]
    }),
  )
}

type Value = string | number | null

function fromHex(text: Value): Uint8Array | null {
  return text === null ? null : Buffer.from(String(text), 'hex')
}

const SCANS_AT_ONCE = 1_000

/**
 * Removes personal data from scans. The chain stays verifiable, because the digest of the data (`commitment`) remains.
 * The data cannot be guessed from the digest, because the salt is deleted (decisions/0022).
 */
export async function eraseScans(db: Knex, scans: () => Knex.QueryBuilder): Promise<void> {
  // Lock the scans. Otherwise, a scan could be chained while its data is erased.
  await scans().orderBy('id').forUpdate().select('id')
  const erased = Object.fromEntries(PERSONAL.map((column) => [column, ERASED[column] ?? null]))
  const assignments = Object.entries(erased).map(
    ([column, value]) => `${column} = ${value === null ? 'null' : `'${value}'`}`,
  )
  const update = `update scans set ${assignments.join(', ')}, salt = null, commitment = ${bytesOfHex(db, '(value ->> 1)')}
    from ${elementsOfJson(db, ':committed')} where scans.id = ${asId(db, 'value ->> 0')}`
  for (;;) {
    const ids: string[] = await scans().whereNotNull('salt').orderBy('id').limit(SCANS_AT_ONCE).pluck('id')
    if (ids.length === 0) break
    const entries = [...(await readEntries(db, 'scans', ids))]
    const committed = entries.map(([scanId, { salt, personal }]) => [scanId, hex(commitmentOf(salt!, personal))])
    await runPrepared(db, 'erase-scans', { committed: JSON.stringify(committed) }, () => update)
  }
  await scans().update(erased)
}
