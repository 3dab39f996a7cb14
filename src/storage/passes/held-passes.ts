import type { Knex } from 'knex'
import {
  platforms as allPlatforms,
  byPlatform,
  type MessagedPlatform,
  messagedPlatforms,
  type Platform,
} from '../../core/contract/schemas/platform.ts'
import { groupBy } from '../../core/group-by.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { bindIds, boundColumn, isAmong, joinPasses } from '../db/dialect.ts'
import { runPrepared } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'
import { type WalletTable, walletTables } from './wallet-tables.ts'

/**
 * The number of devices that hold a pass, by platform; the number of people if the platform does not report devices.
 */
type Devices = Record<Platform, number>

/** A pass that got its first holder on a platform, or that lost its last holder there. */
export interface HolderChange {
  passId: string
  platform: Platform
  /** The number of devices or people that hold the pass now; 0 if the last holder removed it. */
  devices: number
}

interface Row extends Devices {
  pass_id: string
}

/** The numbers of holders that events last reported. A pass has a row while a wallet holds it (decisions/0018). */
export class HeldPasses extends Repository {
  /**
   * Compares the reported holders of passes with the current ones, updates the rows, and returns the changes to report.
   * Call it last in the transaction that changes holders. Concurrent changes of the same pass wait for each other.
   */
  async settle(workspaceId: string, passIds: string[]): Promise<HolderChange[]> {
    if (passIds.length === 0) return []
    const rows = [...new Set(passIds)].sort().map((id) => ({
      workspace_id: workspaceId,
      pass_id: id,
      ...none,
    }))
    const previous = await insertRows<Row>(
      this.db,
      'held_passes',
      rows,
      `on conflict (workspace_id, pass_id) do update set apple = held_passes.apple returning pass_id, ${allPlatforms.join()}`,
    )
    // Count in later statements: the insert can wait for other transactions, but does not see their changes.
    const ids = previous.map((row) => row.pass_id)
    const counted = await this.count(workspaceId, ids)
    await this.write(workspaceId, previous, counted)
    return previous.flatMap(({ pass_id: passId, ...before }) =>
      allPlatforms.flatMap((platform) => {
        const devices = counted.get(passId)![platform]
        return before[platform] > 0 === devices > 0 ? [] : [{ passId, platform, devices }]
      }),
    )
  }

  /** Returns the number of Apple devices that hold each pass. Omits passes that no device holds. */
  async countDevices(workspaceId: string, passIds: string[]): Promise<Map<string, number>> {
    const held = this.db('held_passes').where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
    const rows: Pick<Row, 'pass_id' | 'apple'>[] = await held.select('pass_id', 'apple')
    return new Map(rows.map((row) => [row.pass_id, row.apple]))
  }

  /** For each platform, returns the passes with a device or an object, even if no wallet holds the object now. */
  findHolders(workspaceId: string, passIds: string[]): Promise<Record<Platform, string[]>> {
    return this.find(workspaceId, passIds, 'find-holders', () => '')
  }

  /** For each platform, returns the passes that a wallet holds now. */
  findInstalled(workspaceId: string, passIds: string[]): Promise<Record<Platform, string[]>> {
    return this.find(workspaceId, passIds, 'find-installed', ({ holds }) => (holds ? ` and ${holds}` : ''))
  }

  private async find(
    workspaceId: string,
    passIds: string[],
    name: string,
    conditionOf: (table: WalletTable) => string,
  ): Promise<Record<Platform, string[]>> {
    const sql = allPlatforms.map(
      (platform) => `select distinct pass_id, '${platform}' as platform from ${walletTables[platform].table} as wallet
        where ${boundColumn(this.db, 'workspace_id')} = :workspaceId and ${isAmong(this.db, 'pass_id', 'passIds')}
          ${conditionOf(walletTables[platform])}`,
    )
    const values = { workspaceId, passIds: bindIds(this.db, passIds) }
    const rows = await runPrepared<{ pass_id: string; platform: Platform }>(this.db, name, values, () =>
      sql.join(' union all '),
    )
    return byPlatform((platform) => rows.filter((row) => row.platform === platform).map((row) => row.pass_id))
  }

  /**
   * Raises the sent version of the wallets that were current before `Passes.setMessages`, and returns the passes whose
   * wallets were outdated. Messaged platforms do not show the back field that contains the message, so their wallets
   * remain current although the wallet version of the passes rose by one. Call it after `Passes.setMessages`.
   */
  async keepCurrent(workspaceId: string, passIds: string[]): Promise<Record<MessagedPlatform, string[]>> {
    const outdated = byPlatform((): string[] => [])
    for (const platform of messagedPlatforms) {
      const { table } = walletTables[platform]
      const version = this.db('passes').whereRaw(`id = ${table}.pass_id`).select('wallet_version')
      const wallets = () => this.db(table).where({ workspace_id: workspaceId }).whereIn('pass_id', passIds)
      await wallets()
        .whereRaw('sent_version + 1 = (?)', [version])
        .update({ sent_version: this.db.raw('sent_version + 1') })
      outdated[platform] = await wallets().whereRaw('sent_version < (?)', [version]).pluck('pass_id')
    }
    return outdated
  }

  private async count(workspaceId: string, passIds: string[]): Promise<Map<string, Devices>> {
    const counted = new Map(passIds.map((id): [string, Devices] => [id, { ...none }]))
    for (const platform of allPlatforms) {
      const { table, devices } = walletTables[platform]
      const rows: { pass_id: string; n: number }[] = await this.db({ wallet: table })
        .where({ workspace_id: workspaceId })
        .whereIn('pass_id', passIds)
        .groupBy('pass_id')
        .select('pass_id', { n: this.db.raw(devices) })
      for (const row of rows) counted.get(row.pass_id)![platform] = row.n
    }
    return counted
  }

  /** Stores changed counts, with one statement for all passes with equal counts. */
  private async write(workspaceId: string, previous: Row[], counted: Map<string, Devices>): Promise<void> {
    const changed = previous.filter(({ pass_id, ...before }) => {
      const now = counted.get(pass_id)!
      return total(now) === 0 || allPlatforms.some((platform) => now[platform] !== before[platform])
    })
    for (const [key, alike] of groupBy(changed, ({ pass_id }) => JSON.stringify(counted.get(pass_id)))) {
      const now: Devices = JSON.parse(key)
      const ids = alike.map(({ pass_id }) => pass_id)
      const rows = this.db('held_passes').where({ workspace_id: workspaceId }).whereIn('pass_id', ids)
      await (total(now) > 0 ? rows.update(now) : rows.delete())
    }
  }
}

const none = byPlatform(() => 0)

function total(devices: Devices): number {
  return allPlatforms.reduce((sum, platform) => sum + devices[platform], 0)
}

/** Returns a query for the passes that a wallet holds. If exactly one platform is given, only its wallets count. */
export function heldPasses(db: Knex, workspaceId: string, platforms: Platform[] = []): Knex.QueryBuilder {
  const held = db.from({ held: 'held_passes' }).where('held.workspace_id', workspaceId)
  const [platform, ...others] = new Set(platforms)

  if (platform && others.length === 0) held.whereRaw(`held.${platform} > 0`)
  return joinPasses(db, held, 'held.pass_id').where('passes.workspace_id', workspaceId)
}

/** Returns a subquery with a row if a wallet of one of the platforms (by default, of any platform) holds the pass. */
export function holding(db: Knex, platforms?: Platform[]): Knex.QueryBuilder {
  const rows = db('held_passes')
    .whereRaw('held_passes.workspace_id = passes.workspace_id and held_passes.pass_id = passes.id')
    .select(db.raw('1'))
  if (platforms)
    rows.where((some) => {
      for (const platform of new Set(platforms)) some.orWhereRaw(`held_passes.${platform} > 0`)
    })
  // Without the limit, SQLite 3.51 would turn EXISTS into an inner join, and OFFSET would count rows of the join.
  return rows.limit(1)
}

/**
 * If `isStale`, selects the passes that are outdated in a wallet of one of the platforms; otherwise, all other passes.
 * Agrees with the response of `/wallets`.
 */
export function whereStale(
  db: Knex,
  where: Knex.QueryBuilder,
  isStale: boolean,
  platforms: readonly Platform[] = allPlatforms,
): void {
  for (const platform of new Set(platforms)) {
    const { table, holds, isStale: isOutdated } = walletTables[platform]
    const outdated = db({ wallet: table })
      .whereRaw('wallet.workspace_id = passes.workspace_id and wallet.pass_id = passes.id')
      .whereRaw(isOutdated)
      .select(db.raw('1'))
      .limit(1)
    if (holds) outdated.whereRaw(holds)
    if (isStale) where.orWhereExists(outdated)
    else where.whereNotExists(outdated)
  }
}
