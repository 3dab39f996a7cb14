import type { Knex } from 'knex'
import type { Platform } from '../../core/contract/notifications.ts'
import { groupBy } from '../../core/group-by.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { joinPasses } from '../db/dialect.ts'

/** Devices that hold a pass now, by platform; of Google, people who have it. */
interface Devices {
  apple: number
  google: number
}

/** On a platform a pass came from none to one, or from one to none. */
export interface HolderChange {
  passId: string
  platform: keyof Devices
  /** That hold it now; 0 where it was removed. */
  devices: number
}

interface Row extends Devices {
  pass_id: string
}

/** Which passes wallets hold, as was told last: a row while any holds one (decisions/0018). */
export class HeldPasses {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /**
   * Compares what was told of passes with the wallets that hold them now, and returns what is to be told, which then counts as
   * told. Called last in the transaction of the change: whoever changes the wallets of the same pass waits for its end.
   */
  async settle(workspaceId: string, passIds: string[]): Promise<HolderChange[]> {
    if (passIds.length === 0) return []
    const rows = [...new Set(passIds)].sort().map((id) => ({
      workspace_id: workspaceId,
      pass_id: id,
      apple: 0,
      google: 0,
    }))
    const told = await insertRows<Row>(
      this.db,
      'held_passes',
      rows,
      'on conflict (workspace_id, pass_id) do update set apple = held_passes.apple returning pass_id, apple, google',
    )
    // Statements of their own, after the one that waits: they see what others committed meanwhile.
    const counted = await this.count(
      workspaceId,
      told.map((row) => row.pass_id),
    )
    await this.write(workspaceId, told, counted)
    return told.flatMap(({ pass_id: passId, ...before }) =>
      (['apple', 'google'] as const).flatMap((platform) => {
        const devices = counted.get(passId)![platform]
        return before[platform] > 0 === devices > 0 ? [] : [{ passId, platform, devices }]
      }),
    )
  }

  /** How many devices hold each of the passes in Apple Wallet; those that none holds are left out. */
  async countDevices(workspaceId: string, passIds: string[]): Promise<Map<string, number>> {
    const held = this.db('held_passes').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    const rows: Pick<Row, 'pass_id' | 'apple'>[] = await held.select('pass_id', 'apple')
    return new Map(rows.map((row) => [row.pass_id, row.apple]))
  }

  private async count(workspaceId: string, passIds: string[]): Promise<Map<string, Devices>> {
    const ofPasses = (table: string) =>
      this.db(table).where({ workspace_id: workspaceId }).whereIn('pass_id', passIds).select('pass_id')
    const registered: { pass_id: string; n: number | string }[] = await ofPasses('apple_registrations')
      .groupBy('pass_id')
      .count({ n: '*' })
    const saved: { pass_id: string; holders: number }[] = await ofPasses('google_objects').select('holders')
    const apple = new Map(registered.map((row) => [row.pass_id, Number(row.n)]))
    // Below zero a removal came before its save.
    const google = new Map(saved.map((row) => [row.pass_id, Math.max(0, row.holders)]))
    return new Map(passIds.map((id) => [id, { apple: apple.get(id) ?? 0, google: google.get(id) ?? 0 }]))
  }

  /** Passes that stand alike take one statement. */
  private async write(workspaceId: string, told: Row[], counted: Map<string, Devices>): Promise<void> {
    const changed = told.filter(({ pass_id, apple, google }) => {
      const now = counted.get(pass_id)!
      const isSame = now.apple === apple && now.google === google
      return !isSame || now.apple + now.google === 0
    })
    for (const [key, alike] of groupBy(changed, ({ pass_id }) => JSON.stringify(counted.get(pass_id)))) {
      const now: Devices = JSON.parse(key)
      const ids = alike.map(({ pass_id }) => pass_id)
      const rows = this.db('held_passes').where({ workspace_id: workspaceId }).whereIn('pass_id', ids)
      await (now.apple + now.google > 0 ? rows.update(now) : rows.delete())
    }
  }
}

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
  const outdated = {
    // A device that never fetched anything holds what it downloaded, which is the first version.
    apple: () =>
      ofPass('apple_registrations').whereRaw('passes.wallet_version > 1 and fetched_version < passes.wallet_version'),
    google: () => ofPass('google_objects').whereRaw('holders > 0 and sent_version < passes.wallet_version'),
  }
  for (const platform of new Set(platforms)) {
    if (isStale) where.orWhereExists(outdated[platform]())
    else where.whereNotExists(outdated[platform]())
  }
}
