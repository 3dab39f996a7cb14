import type { Knex } from 'knex'
import type { PassStatus } from '../../core/contract/schemas/common.ts'
import type { BalanceSums } from '../../core/rules/balances/balances.ts'
import { type Row, updateRows } from '../db/bulk-rows.ts'
import { type PassContent, type StoredPass, toContentColumns, toStoredStatus } from './pass-row.ts'

/**
 * Returns the change with an increment of `version`, which counts all stored changes, including those of the status.
 */
export function withVersionBump(db: Knex, change: object, at: Date) {
  return { ...change, version: db.raw('version + 1'), updated_at: at.getTime() }
}

/**
 * Like `withVersionBump`, but also increments `wallet_version`, the version of the content in wallets. Advances
 * `modified_at` by at least a second, to a whole second.
 */
export function withWalletVersionBump(db: Knex, change: object, at: Date) {
  return {
    ...withVersionBump(db, change, at),
    wallet_version: db.raw('wallet_version + 1'),
    modified_at: db.raw(NEXT_MODIFIED_AT, { second: secondOf(at) }),
  }
}

const NEXT_MODIFIED_AT = 'case when modified_at >= :second then modified_at + 1000 else :second end'

/** The changes of `withWalletVersionBump` as SQL at the time `:at`. `:second` is `:at` without its milliseconds. */
const WALLET_VERSION_BUMP = {
  version: 'version + 1',
  wallet_version: 'wallet_version + 1',
  updated_at: ':at',
  modified_at: NEXT_MODIFIED_AT,
}

function secondOf(at: Date): number {
  return at.getTime() - (at.getTime() % 1000)
}

/**
 * Returns the counters of a pass after `withWalletVersionBump` if `isShown`, otherwise after `withVersionBump`. A
 * caller that has locked the pass therefore need not read the counters again.
 */
export function bumpedCounters(pass: StoredPass, { isShown }: { isShown: boolean }, at: Date) {
  const { version, walletVersion, modifiedAt } = pass
  const bumped = { version: version + 1, updatedAt: at }
  if (!isShown) return bumped
  const second = secondOf(at)
  const modified = modifiedAt.getTime() >= second ? modifiedAt.getTime() + 1000 : second
  return { ...bumped, walletVersion: walletVersion + 1, modifiedAt: new Date(modified) }
}

/**
 * Selects passes of a workspace and locks them until the transaction ends. Use it to change several passes together:
 * the consistent order prevents deadlocks.
 */
export function lockPasses(db: Knex, workspaceId: string) {
  return db('passes').where({ workspace_id: workspaceId }).orderBy('id').forUpdate()
}

/**
 * The assignments for a pass that is issued at `:at`. A pass is ISSUED from issued_at until issued_until, except while
 * it was expired, from lapsed_from until lapsed_until.
 */
export const ISSUED_SPAN = `issued_at = :at, issued_until = case when expires_at < :at then :at else expires_at end`

/** Returns the columns that end the ISSUED period, if any, of a pass that becomes void or is rejected. */
export function endedSpan(db: Knex, at: Date) {
  return { issued_until: db.raw(ENDED_UNTIL, { at: at.getTime() }) }
}

const ENDED_UNTIL = `case when issued_at is not null and (issued_until is null or issued_until > :at) then :at
  else issued_until end`

/**
 * Returns the columns that adapt the ISSUED period of a pass to a new expiry. An expired pass can become valid again.
 */
export function movedSpan(db: Knex, expiresAt: Date | null, at: Date) {
  const values = { until: expiresAt?.getTime() ?? null, at: at.getTime() }
  const columns = Object.entries(movedSpanTo('cast(:until as bigint)'))
  return Object.fromEntries(columns.map(([column, sql]) => [column, db.raw(sql, values)]))
}

/** Returns the columns of `movedSpan` as SQL at the time `:at`. `until` is the new expiry as an SQL expression. */
function movedSpanTo(until: string) {
  const isResumed = `issued_until <= :at and coalesce(${until} > :at, true)`
  return {
    lapsed_from: `case when ${isResumed} then issued_until else lapsed_from end`,
    lapsed_until: `case when ${isResumed} then :at else lapsed_until end`,
    issued_until: `case when ${until} <= :at then ${ENDED_UNTIL} when issued_at is not null then ${until} end`,
  }
}

const UPGRADED = {
  status: 'text',
  template_version_id: 'uuid',
  template_version: 'bigint',
  google_class_id: 'uuid',
  group_id: 'uuid',
  group_key: 'text',
  redemption: 'text',
  has_windows: 'boolean',
  has_balances: 'boolean',
  expires_at: 'bigint',
  expiry_date: 'text',
} as const

/**
 * Writes upgrades of locked passes as new revisions, in one statement, and returns the IDs of the written passes. An
 * upgrade keeps labels and variables.
 */
export async function writeUpgrades(
  db: Knex,
  workspaceId: string,
  upgrades: (PassContent & { id: string; status: PassStatus })[],
  at: Date,
): Promise<Set<string>> {
  const rows = upgrades.map(({ id, status, ...content }) => {
    const columns: Row = { ...toContentColumns(content), status: toStoredStatus(status) }
    return { id, set: Object.fromEntries(Object.keys(UPGRADED).map((name) => [name, columns[name]!])) }
  })
  const computed = {
    // Clear the error, because it describes an earlier revision.
    error: 'null',
    revision: 'revision + 1',
    ...WALLET_VERSION_BUMP,
    ...movedSpanTo('given.expires_at'),
  }
  const values = { at: at.getTime(), second: secondOf(at) }
  return updateRows(db, workspaceId, { name: 'upgrade-passes', table: 'passes', set: UPGRADED, computed, values }, rows)
}

/** Writes the balance sums of locked passes in one statement, and raises the wallet version of each pass. */
export async function writeBalanceSums(
  db: Knex,
  workspaceId: string,
  changes: { passId: string; sums: BalanceSums }[],
  at: Date,
): Promise<void> {
  const rows = changes.map(({ passId, sums }) => ({ id: passId, set: { balance_sums: JSON.stringify(sums) } }))
  const values = { at: at.getTime(), second: secondOf(at) }
  const set = { balance_sums: 'text' } as const
  const update = { name: 'write-balance-sums', table: 'passes', set, computed: WALLET_VERSION_BUMP, values }
  await updateRows(db, workspaceId, update, rows)
}

export function whereIssuedAt(query: Knex.QueryBuilder, at: Date): Knex.QueryBuilder {
  const moments = { at: at.getTime() }
  return query
    .where('passes.issued_at', '<=', moments.at)
    .whereRaw('(passes.issued_until is null or passes.issued_until > :at)', moments)
    .whereRaw('(passes.lapsed_from is null or passes.lapsed_from > :at or passes.lapsed_until <= :at)', moments)
}

/** Returns the columns for a new holder, who must not get the former holder's links, messages, names, or consent. */
export function toHolderColumns(db: Knex, { copyId, appleToken }: Pick<StoredPass, 'copyId' | 'appleToken'>) {
  const link_generation = db.raw('link_generation + 1')
  return {
    serial_number: copyId,
    imported_serial_number: null,
    google_object_id: null,
    apple_token: appleToken,
    message_id: null,
    consent_version: null,
    consented_at: null,
    link_generation,
  }
}
