import type { Knex } from 'knex'
import type { Platform } from '../../core/contract/notifications.ts'
import { joinPasses } from '../db/dialect.ts'

/** How lists of passes ask what wallets hold: by the row that says so, and by what each wallet has. */

/** The passes that wallets of one of the platforms hold, of any by default, in the order of their ids. */
export function heldPasses(db: Knex, workspaceId: string, platforms: Platform[] = []): Knex.QueryBuilder {
  const held = db.from({ held: 'held_passes' }).where('held.workspace_id', workspaceId)
  const [platform, ...others] = new Set(platforms)
  // One is an index of its own; both are all.
  if (platform && others.length === 0) held.whereRaw(`held.${platform} > 0`)
  return joinPasses(db, held, 'held.pass_id').where('passes.workspace_id', workspaceId)
}

/** The row of the pass that wallets hold it, of one of the platforms; of any by default. */
export function holding(db: Knex, platforms?: Platform[]): Knex.QueryBuilder {
  const rows = db('held_passes')
    .whereRaw('held_passes.workspace_id = passes.workspace_id and held_passes.pass_id = passes.id')
    .select(db.raw('1'))
  if (platforms)
    rows.where((some) => {
      for (const platform of new Set(platforms)) some.orWhereRaw(`held_passes.${platform} > 0`)
    })
  // As of scans: a limit keeps SQLite from making a join of it.
  return rows.limit(1)
}

/** Whether a wallet of the platforms, of any by default, lacks the newest version; as `/wallets` says it of each. */
export function whereStale(
  db: Knex,
  where: Knex.QueryBuilder,
  isStale: boolean,
  platforms: Platform[] = ['apple', 'google'],
): void {
  const ofPass = (table: string) =>
    db(table)
      .whereRaw(`${table}.workspace_id = passes.workspace_id and ${table}.pass_id = passes.id`)
      .select(db.raw('1'))
      .limit(1)
  const behind = {
    // A device that never fetched anything holds what it downloaded, which is the first version.
    apple: () =>
      ofPass('apple_registrations').whereRaw('passes.wallet_version > 1 and fetched_version < passes.wallet_version'),
    google: () => ofPass('google_objects').whereRaw('holders > 0 and sent_version < passes.wallet_version'),
  }
  for (const platform of new Set(platforms)) {
    if (isStale) where.orWhereExists(behind[platform]())
    else where.whereNotExists(behind[platform]())
  }
}
