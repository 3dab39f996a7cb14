import type { Knex } from 'knex'
import type { StoredPass } from './pass-row.ts'

/** Adds the increment of `version` to a change. `version` counts every stored change, including changes of the status. */
export function withVersionBump(db: Knex, change: object, at: Date) {
  return { ...change, version: db.raw('version + 1'), updated_at: at.getTime() }
}

/**
 * Also adds the increment of `wallet_version`, which orders the versions that phones show, and of `modified_at`, which consists
 * of whole seconds and strictly increases.
 */
export function withWalletVersionBump(db: Knex, change: object, at: Date) {
  const second = secondOf(at)
  return {
    ...withVersionBump(db, change, at),
    wallet_version: db.raw('wallet_version + 1'),
    modified_at: db.raw('case when modified_at >= :second then modified_at + 1000 else :second end', { second }),
  }
}

function secondOf(at: Date): number {
  return at.getTime() - (at.getTime() % 1000)
}

/**
 * Returns the counters of a pass after one of the two functions above, so that a caller that has locked the pass need not read
 * them again.
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
 * Selects passes of a workspace and locks them until the transaction ends. Use it to change several passes at once: the
 * consistent order prevents deadlocks.
 */
export function lockPasses(db: Knex, workspaceId: string) {
  return db('passes').where({ workspace_id: workspaceId }).orderBy('id').forUpdate()
}

/**
 * The assignment for a pass that is issued at `:at`. A pass is ISSUED from issued_at until issued_until, except from
 * lapsed_from until lapsed_until, when it was expired. These columns show whether it was ISSUED at any time.
 */
export const ISSUED_SPAN = `issued_at = :at, issued_until = case when expires_at < :at then :at else expires_at end`

/** Returns the columns for a pass that becomes void, whether or not it was issued. */
export function endedSpan(db: Knex, at: Date) {
  const until =
    'case when issued_at is not null and (issued_until is null or issued_until > :at) then :at else issued_until'
  return { issued_until: db.raw(`${until} end`, { at: at.getTime() }) }
}

/**
 * Returns the columns for a pass whose expiry changes. An expired pass can become valid again, and a valid one can expire
 * immediately.
 */
export function movedSpan(db: Knex, expiresAt: Date | null, at: Date) {
  if (expiresAt !== null && expiresAt <= at) return endedSpan(db, at)
  const now = at.getTime()
  return {
    lapsed_from: db.raw('case when issued_until <= :now then issued_until else lapsed_from end', { now }),
    lapsed_until: db.raw('case when issued_until <= :now then :now else lapsed_until end', { now }),
    issued_until: db.raw('case when issued_at is null then null else cast(:until as bigint) end', {
      until: expiresAt?.getTime() ?? null,
    }),
  }
}

export function whereIssuedAt(query: Knex.QueryBuilder, at: Date): Knex.QueryBuilder {
  const moments = { at: at.getTime() }
  return query
    .where('passes.issued_at', '<=', moments.at)
    .whereRaw('(passes.issued_until is null or passes.issued_until > :at)', moments)
    .whereRaw('(passes.lapsed_from is null or passes.lapsed_from > :at or passes.lapsed_until <= :at)', moments)
}

/** Returns the columns for a new holder, who must not get the links, messages, and names of the former one. */
export function toHolderColumns(db: Knex, { copyId, appleToken }: Pick<StoredPass, 'copyId' | 'appleToken'>) {
  const link_generation = db.raw('link_generation + 1')
  return {
    serial_number: copyId,
    imported_serial_number: null,
    google_object_id: null,
    apple_token: appleToken,
    message_id: null,
    link_generation,
  }
}
