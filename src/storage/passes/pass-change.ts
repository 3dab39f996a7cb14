import type { Knex } from 'knex'
import { forUpdate } from '../db/dialect.ts'

/** `version` counts every stored change, status included (spec 2.1). */
export function withVersionBump(db: Knex, change: object, at: Date) {
  return { ...change, version: db.raw('version + 1'), updated_at: at.getTime() }
}

/** `wallet_version` orders what phones show. */
export function withWalletVersionBump(db: Knex, change: object, at: Date) {
  const second = at.getTime() - (at.getTime() % 1000)
  return {
    ...withVersionBump(db, change, at),
    wallet_version: db.raw('wallet_version + 1'),
    modified_at: db.raw('case when modified_at >= ? then modified_at + 1000 else ? end', [second, second]),
  }
}

/**
 * Passes of a workspace, to be narrowed down, that are held until the transaction ends. Whoever changes several at once takes
 * them so: in one order for everyone, so that two never wait for each other.
 */
export function lockPasses(db: Knex, workspaceId: string) {
  return forUpdate(db, db('passes').where({ workspace_id: workspaceId }).orderBy('id'))
}
