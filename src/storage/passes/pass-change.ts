import type { Knex } from 'knex'
import { forUpdate } from '../db/dialect.ts'
import type { StoredPass } from './pass-row.ts'

/** `version` counts every stored change, status included. */
export function withVersionBump(db: Knex, change: object, at: Date) {
  return { ...change, version: db.raw('version + 1'), updated_at: at.getTime() }
}

/** `wallet_version` orders what phones show, and `modified_at` says so in whole seconds, each later than the one before. */
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

/** What the two above make of the counters of a pass that its writer holds, who need not read them again. */
export function bumpedCounters(pass: StoredPass, { isShown }: { isShown: boolean }, at: Date) {
  const { version, walletVersion, modifiedAt } = pass
  const bumped = { version: version + 1, updatedAt: at }
  if (!isShown) return bumped
  const second = secondOf(at)
  const modified = modifiedAt.getTime() >= second ? modifiedAt.getTime() + 1000 : second
  return { ...bumped, walletVersion: walletVersion + 1, modifiedAt: new Date(modified) }
}

/**
 * Passes of a workspace, to be narrowed down, that are held until the transaction ends. Whoever changes several at once takes
 * them so: in one order for everyone, so that two never wait for each other.
 */
export function lockPasses(db: Knex, workspaceId: string) {
  return forUpdate(db, db('passes').where({ workspace_id: workspaceId }).orderBy('id'))
}

/**
 * When a pass is ISSUED, kept on its row: from issued_at until issued_until, but for the stretch from lapsed_from until
 * lapsed_until in which it was expired. So that whoever asks later can tell how it stood at a moment.
 */

/** What is set on a pass that becomes issued at the moment `:at`. */
export const ISSUED_SPAN = `issued_at = :at, issued_until = case when expires_at < :at then :at else expires_at end`

/** A pass that becomes void, whether or not it was issued. */
export function endedSpan(db: Knex, at: Date) {
  const until =
    'case when issued_at is not null and (issued_until is null or issued_until > :at) then :at else issued_until'
  return { issued_until: db.raw(`${until} end`, { at: at.getTime() }) }
}

/** A pass whose expiry becomes another: an expired one may live again, another may end at once. */
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

/** Leaves the passes that were issued at the moment. */
export function whereIssuedAt(query: Knex.QueryBuilder, at: Date): Knex.QueryBuilder {
  const moments = { at: at.getTime() }
  return query
    .where('passes.issued_at', '<=', moments.at)
    .whereRaw('(passes.issued_until is null or passes.issued_until > :at)', moments)
    .whereRaw('(passes.lapsed_from is null or passes.lapsed_from > :at or passes.lapsed_until <= :at)', moments)
}

/** The columns of the next holder: what was sent to the former one, links and messages, is none of his. */
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
