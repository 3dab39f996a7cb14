import type { Knex } from 'knex'
import type { ChainName, EntryValues } from '../../core/rules/evidence/chain.ts'
import { bindIds, isAmong, isPostgres } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'

/**
 * What of its rows stands in a chain. A column of a later migration joins a list: where it is null it changes no digest of
 * before. In the order of canonical JSON, which then has nothing to sort.
 */
interface ChainedTable {
  table: string
  /** What never changes. */
  fixed: readonly string[]
  /** What an erasure may take out; none where it touches nothing. */
  personal: readonly string[]
}

/** The tables that are chained. */
export const chainedTables: Record<ChainName, ChainedTable> = {
  scans: {
    table: 'scans',
    fixed: [
      'conflict',
      'device_id',
      'device_time',
      'external_ref',
      'id',
      'matched_count',
      'pass_id',
      'prior_count',
      'project_id',
      'reason',
      'reason_code',
      'recorded_at',
      'redemption',
      'result',
      'reverses_scan_id',
      'scan_context_key',
      'scanned_at',
      'template_id',
      'template_version_id',
      'token_id',
      'validate_as_of',
      'verified',
      'workspace_id',
    ],
    personal: ['context', 'external_pass_id', 'message', 'payload_digest', 'reversal_reason'],
  },
  audit: {
    table: 'audit_entries',
    fixed: [
      'action',
      'actor',
      'correlation_id',
      'created_at',
      'id',
      'target_count',
      'target_id',
      'token_id',
      'workspace_id',
    ],
    personal: [],
  },
}

/** What stands in the ledger in place of what was erased. */
export const ERASED: EntryValues = { message: 'Erased.' }

/** What a chain is made of, of one row. */
export interface Entry {
  fixed: EntryValues
  /** Without a member where nothing may be erased. */
  personal: EntryValues
  /** Null where nothing may be erased, or was. */
  salt: Uint8Array | null
  /** What stands for what was erased; null while it is there. */
  commitment: Uint8Array | null
}

/** Columns of bytes: hexadecimal text in a chain. */
const bytes = new Set(['payload_digest', 'salt', 'commitment'])

/** Rows of what is chained, by their ids; what is gone is left out. All in one value: a driver takes longer for 30 columns. */
export async function readEntries(db: Knex, chain: ChainName, ids: string[]): Promise<Map<string, Entry>> {
  const { table, fixed, personal } = chainedTables[chain]
  const hidden = personal.length > 0 ? ['salt', 'commitment'] : []
  const columns = [...fixed, ...personal, ...hidden]
  const [found] = await runPrepared<{ entries: string }>(db, `read-chained-${chain}`, { ids: bindIds(db, ids) }, () => {
    const values = columns.map((column) => jsonValue(db, column)).join(', ')
    const rows = isPostgres(db)
      ? `json_agg(json_build_array(${values}))::text`
      : `json_group_array(json_array(${values}))`
    return `select coalesce(${rows}, '[]') as entries from ${table} where ${isAmong(db, 'id', 'ids')}`
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

/** A column as JSON holds it. What SQLite holds of another kind than it should was put there by somebody, and must not pass for it. */
function jsonValue(db: Knex, column: string): string {
  const isBytes = bytes.has(column)
  if (isPostgres(db)) return isBytes ? `encode(${column}, 'hex')` : column
  const hex = `lower(hex(${column}))`
  return isBytes
    ? `case typeof(${column}) when 'null' then null when 'blob' then ${hex} else 'no bytes' end`
    : `case typeof(${column}) when 'blob' then 'bytes ' || ${hex} else ${column} end`
}

function fromHex(text: Value): Uint8Array | null {
  return text === null ? null : Buffer.from(String(text), 'hex')
}
