import type { Knex } from 'knex'
import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { encodeCursor } from '../../core/rules/lists/cursor.ts'
import { findPlace, type ListPage, type PageRequest, totalOf } from '../db/list-query.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { type Connected, countRows, Repository } from '../db/repository.ts'
import { heldPasses } from './held-passes.ts'
import { type PassRange, whereInRange } from './list/pass-walk.ts'
import { type DeviceOfPass, forgetPushes } from './nudges.ts'
import { walletTables } from './wallet-tables.ts'

export interface WalletFilter {
  projectId?: string[] | undefined
  platform?: Platform[] | undefined
  /** If true, only wallets that lack the newest version; if false, only wallets that have it. */
  stale?: boolean | undefined
  /** Only wallets whose pass has not changed since this time. */
  changedBefore?: Date | undefined
}

const WALLET = mapping({
  passId: field.text,
  externalPassId: field.text,
  platform: field.plain<Platform>(),
  /** The device ID; null if the platform does not report one. */
  deviceId: field.optionalText,
  /** The wallet version that the wallet shows; 0 if it has not downloaded any update since the pass was added. */
  heldVersion: field.number,
  heldSince: field.time,
  fetchedAt: field.optionalTime,
  pushedVersion: field.number,
  pushedAt: field.optionalTime,
  /** The newest wallet version of the pass; `changedAt` is the time of this version. */
  walletVersion: field.number,
  changedAt: field.time,
  lastError: field.optionalText,
})

/** A wallet that holds a pass: a device or, if the platform reports no devices, the object that all holders share. */
export interface StoredWallet extends RecordOf<typeof WALLET> {}

type Row = RowOf<typeof WALLET>

/** The number of Apple devices in each state. */
export interface WalletCounts {
  phones: number
  current: number
  /** The number of outdated devices whose pushes were rejected. */
  refused: number
  /** The number of outdated devices with no rejected push and with a pass that changed at or before `changedBefore`. */
  late: number
}

/**
 * The wallets that hold passes, sorted by pass, newest first. Reads only passes that a wallet holds, so that other
 * passes cost nothing.
 */
export class Wallets extends Repository {
  private readonly passesAtOnce: number

  constructor(connected: Connected, passesAtOnce = 100_000) {
    super(connected)
    this.passesAtOnce = passesAtOnce
  }

  /** @throws ApiError VALIDATION_ERROR for a cursor that is malformed or belongs to another list */
  async list(workspaceId: string, filter: WalletFilter, request: PageRequest): Promise<ListPage<StoredWallet>> {
    const { limit } = request
    const { changedBefore, ...filters } = filter
    const list = ['wallets', changedBefore !== undefined]
    const { cursor, offset, listKey } = findPlace(request, { list, filters, keyType: 'integer' })
    // A page can end between two wallets of a pass, so a cursor's key is the number of the pass's wallets to skip.
    const skipped = cursor ? (cursor.key as number) : offset
    const arms = this.arms(workspaceId, filter)
    const rows = await (request.offset
      ? this.readPage(arms, { limit: limit + 1, skipped }, { after: null, upTo: null })
      : this.findPage(workspaceId, arms, { limit: limit + 1, skipped }, cursor?.id))
    const total =
      cursor?.total ?? (await totalOf({ limit, offset, found: rows.length }, () => this.countAll(workspaceId, arms)))
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const hasMore = rows.length > limit
    let nextCursor: string | null = null
    if (hasMore && last) {
      const ofLast = shown.filter(({ pass_id }) => pass_id === last.pass_id).length
      const key = ofLast + (cursor?.id === last.pass_id ? skipped : 0)
      nextCursor = encodeCursor({ total, offset: offset + shown.length, id: last.pass_id, key }, listKey)
    }
    return { rows: shown.map(WALLET.read), total, limit, offset, nextCursor, hasMore }
  }

  /** Counts the devices in each state. A device counts once for each of its passes. */
  async counts(workspaceId: string, projectId: string[] | undefined, changedBefore: Date): Promise<WalletCounts> {
    const [apple] = this.arms(workspaceId, { projectId, platform: ['apple'] })
    const count = (condition: string) => `coalesce(sum(case when ${condition} then 1 else 0 end), 0)`
    const { isStale } = walletTables.apple
    const isReachable = `${isStale} and last_error is null`
    const counted = this.db.raw(
      `count(*) as phones, ${count(isStale)} as stale, ${count(`${isStale} and last_error is not null`)} as refused,
        ${count(`${isReachable} and passes.modified_at <= ${changedBefore.getTime()}`)} as late`,
    )
    const counts: WalletCounts = { phones: 0, current: 0, refused: 0, late: 0 }
    for await (const range of this.ranges(workspaceId)) {
      const row = await inRange(apple!.wallets, range).first(counted)
      counts.phones += row.phones
      counts.current += row.phones - row.stale
      counts.refused += row.refused
      counts.late += row.late
    }
    return counts
  }

  private async countAll(workspaceId: string, arms: Arm[]): Promise<number> {
    let total = 0
    for await (const range of this.ranges(workspaceId)) {
      for (const { wallets } of arms) total += await countRows(inRange(wallets, range))
    }
    return total
  }

  /**
   * Yields the ranges of held passes, newest first. Starts at the pass `from`, by default at the newest. Each range has
   * a limited number of passes. Otherwise, a statement could read a million passes, and exceed the time limit of
   * requests.
   */
  private async *ranges(workspaceId: string, from: string | null = null): AsyncGenerator<PassRange> {
    let upTo = from
    do {
      const held = this.db('held_passes').where({ workspace_id: workspaceId }).orderBy('pass_id', 'desc')
      if (upTo !== null) held.where('pass_id', '<=', upTo)
      const next: { pass_id: string } | undefined = await held.offset(this.passesAtOnce).first('pass_id')
      const after = next?.pass_id ?? null
      yield { after, upTo }
      upTo = after
    } while (upTo !== null)
  }

  /** Returns up to `limit` outdated devices whose last push was at or before `pushedBefore`, newest passes first. */
  async listSilent(
    workspaceId: string,
    projectId: string[] | undefined,
    { pushedBefore, limit }: { pushedBefore: Date; limit: number },
  ): Promise<DeviceOfPass[]> {
    const arms = this.arms(workspaceId, { projectId, platform: ['apple'], stale: true })
    for (const { wallets } of arms) {
      wallets.whereRaw('wallet.pushed_version > 0').where('wallet.pushed_at', '<=', pushedBefore.getTime())
    }
    const rows = await this.findPage(workspaceId, arms, { limit, skipped: 0 })
    return rows.map((row) => ({ passId: row.pass_id, deviceId: row.device_id! }))
  }

  /**
   * Marks the devices whose last push was at or before `pushedBefore` as not pushed. Returns their number and their
   * passes, without duplicates.
   */
  async forgetPushes(
    workspaceId: string,
    devices: DeviceOfPass[],
    pushedBefore: Date,
  ): Promise<{ devices: number; passIds: string[] }> {
    const forgotten = await forgetPushes(this.db, workspaceId, devices, pushedBefore)
    return { devices: forgotten.length, passIds: [...new Set(forgotten)] }
  }

  private arms(workspaceId: string, { projectId, platform, stale, changedBefore }: WalletFilter): Arm[] {
    const projectIds = this.narrow(projectId)
    return platforms
      .filter((name) => platform === undefined || platform.includes(name))
      .map((name) => {
        const { table, isStale, holds, columns, device } = walletTables[name]
        const wallets = heldPasses(this.db, workspaceId, [name])
          .joinRaw(`cross join ${table} as wallet`)
          .whereRaw('wallet.pass_id = held.pass_id and wallet.workspace_id = held.workspace_id')
        if (holds) wallets.whereRaw(holds)
        if (projectIds) wallets.whereIn('passes.project_id', projectIds)
        if (stale !== undefined) wallets.whereRaw(stale ? `(${isStale})` : `not (${isStale})`)
        if (changedBefore) wallets.where('passes.modified_at', '<=', changedBefore.getTime())
        const named = { platform: `'${name}'`, device_id: device ?? 'cast(null as text)', ...columns }
        return { wallets, columns: named, device }
      })
  }

  /** Returns a page of wallets from the pass `from` on. Reads range by range until the page is full. */
  private async findPage(workspaceId: string, arms: Arm[], page: Place, from?: string): Promise<Row[]> {
    const wanted = page.limit + page.skipped
    const rows: Row[] = []
    for await (const range of this.ranges(workspaceId, from)) {
      rows.push(...(await this.readPage(arms, { limit: wanted - rows.length, skipped: 0 }, range)))
      if (rows.length >= wanted) break
    }
    return rows.slice(page.skipped)
  }

  private readPage(arms: Arm[], { limit, skipped }: Place, range: PassRange): Promise<Row[]> {
    const parts = arms.map(({ wallets, columns, device }) => {
      const part = inRange(wallets, range)
        .select('held.pass_id', 'passes.external_pass_id', 'passes.wallet_version', {
          changed_at: 'passes.modified_at',
        })
        .select(Object.entries(columns).map(([name, sql]) => this.db.raw(`${sql} as ${name}`)))
        .orderByRaw(device ? `held.pass_id desc, ${device}` : 'held.pass_id desc')
        .limit(limit + skipped)
      return this.db.from(part.as('part')).select('*')
    })
    const [first, ...others] = parts
    return this.db
      .from(first!.unionAll(others).as('wallets'))
      .orderBy([{ column: 'pass_id', order: 'desc' }, 'platform', 'device_id'])
      .limit(limit)
      .offset(skipped)
      .select('*')
  }
}

/** A page of the list, which skips a number of wallets. */
interface Place {
  limit: number
  skipped: number
}

function inRange(wallets: Knex.QueryBuilder, range: PassRange): Knex.QueryBuilder {
  return whereInRange(wallets.clone(), 'held.pass_id', range)
}

interface Arm {
  wallets: Knex.QueryBuilder
  columns: Record<string, string>
  device: string | undefined
}
