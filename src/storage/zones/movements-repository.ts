import { groupBy } from '../../core/group-by.ts'
import {
  type Direction,
  insertedDeltas,
  type Movement,
  type MovementUse,
  removedDeltas,
} from '../../core/rules/zones/presence.ts'
import { insertRows, isOneOf, selectForEach } from '../db/bulk-rows.ts'
import { Repository } from '../db/repository.ts'
import { placeOf } from '../scans/accepted-scans.ts'

export interface AskedMovements {
  zoneId: string
  passId: string
  at: Date
}

export interface StoredMovement extends Movement {
  scanId: string
}

/** The movements of a pass around a time, between two resets of the zone. */
export interface FoundMovements {
  /** The number of resets at or before the time. */
  segment: number
  /** The last movement at or before the time. */
  previous: StoredMovement | null
  next: StoredMovement | null
  /**
   * The use of the last entry at or before the time. Null if there is no entry, or if the scan that debited the use was
   * reversed.
   */
  use: MovementUse | null
  /** The sequence of a new movement: one more than the highest sequence of the movements at this time. */
  sequence: number
}

/** A movement to insert, with the movements of the pass before and after it. */
export interface NewMovement extends AskedMovements {
  scanId: string
  direction: Direction
  around: FoundMovements
  /** The scan that debited the use of an entry. */
  useScanId: string | null
}

export interface RemovedMovement {
  zoneId: string
  /** The change that the removal made to the number of people inside at the end of the segment. */
  delta: number
  segment: number
}

/** The last movement of a pass in a zone since the last reset of the zone. */
export interface CurrentMovement extends Movement {
  passId: string
  zoneId: string
  use: Pick<MovementUse, 'scannedAt' | 'scanContextKey'> | null
}

type Neighbor = 'previous' | 'next'

interface AroundRow
  extends Record<`${Neighbor}_${'id' | 'context' | 'device'}`, string | null>,
    Record<`${Neighbor}_at`, number>,
    Record<`${Neighbor}_direction`, Direction> {
  n: number
  segment: number
  sequence: number
  use_id: string | null
  use_at: number
  use_key: string
  use_window: string | null
}

interface CurrentRow {
  n: number
  pass_id: string
  zone_id: string
  direction: Direction
  at: number
  context: string | null
  use_at: number | null
  use_key: string
}

/** The accepted scans with a zone, without reversed scans. The caller of a method that writes has locked the pass. */
export class Movements extends Repository {
  /** Returns the movements around each time, in the order of `asked`. Uses one statement. */
  async listAround(workspaceId: string, asked: AskedMovements[]): Promise<FoundMovements[]> {
    const items = asked.map(({ zoneId, passId, at }) => ({ zone_id: zoneId, pass_id: passId, at: at.getTime() }))
    const rows = await selectForEach<AroundRow>(
      this.db,
      workspaceId,
      { name: 'movements-around', given: AROUND, items },
      AROUND_SQL,
    )
    const found: FoundMovements[] = []
    for (const row of rows) found[row.n] = toFound(row)
    return found
  }

  /** Inserts movements, each of a different pass. */
  async insert(workspaceId: string, movements: NewMovement[]): Promise<void> {
    const rows = movements.map(({ scanId, zoneId, passId, at, direction, around, useScanId }) => ({
      scan_id: scanId,
      workspace_id: workspaceId,
      zone_id: zoneId,
      pass_id: passId,
      segment: around.segment,
      at: at.getTime(),
      sequence: around.sequence,
      direction,
      delta: insertedDeltas(around.previous, { direction }, around.next).own,
      use_scan_id: useScanId,
    }))
    await insertRows(this.db, 'zone_movements', rows)
    const later = movements.flatMap(({ direction, around: { previous, next } }) =>
      next ? [{ scanId: next.scanId, delta: insertedDeltas(previous, { direction }, next).next }] : [],
    )
    for (const [delta, changed] of groupBy(later, (one) => one.delta)) {
      const scanIds = changed.map(({ scanId }) => scanId)
      await this.setDelta(workspaceId, scanIds, delta)
    }
  }

  /** Whether the scan is a movement that was not reversed. */
  async isCounted(workspaceId: string, scanId: string): Promise<boolean> {
    const row = await this.db('zone_movements').where({ workspace_id: workspaceId, scan_id: scanId }).first('scan_id')
    return row !== undefined
  }

  /** Deletes the movement of a reversed scan. Returns undefined if the scan is not a movement. */
  async remove(workspaceId: string, scanId: string): Promise<RemovedMovement | undefined> {
    const own = () => this.db('zone_movements').where({ workspace_id: workspaceId, scan_id: scanId })
    const movement = await own().first()
    if (!movement) return undefined
    const { zone_id: zoneId, pass_id: passId, segment, at, sequence } = movement
    const neighbor = (comparison: '<' | '>') =>
      this.db('zone_movements')
        .where({ workspace_id: workspaceId, pass_id: passId, zone_id: zoneId, segment })
        .whereRaw(`(at, sequence) ${comparison} (:at, :sequence)`, { at, sequence })
        .orderBy(['at', 'sequence'].map((column) => ({ column, order: comparison === '<' ? 'desc' : 'asc' })))
        .first({ scanId: 'scan_id', direction: 'direction' })
    const [previous = null, next = null] = [await neighbor('<'), await neighbor('>')]
    const deltas = removedDeltas(previous, movement, next)
    await own().delete()
    if (next) await this.setDelta(workspaceId, [next.scanId], deltas.next)
    return { zoneId, segment, delta: deltas.total }
  }

  private async setDelta(workspaceId: string, scanIds: string[], delta: number): Promise<void> {
    const rows = this.db('zone_movements').where({ workspace_id: workspaceId })
    await rows.where(isOneOf(this.db, 'scan_id', scanIds)).update({ delta })
  }

  /** Returns the last movement of each pass in each existing zone since the last reset of the zone. */
  async listCurrent(workspaceId: string, passIds: string[]): Promise<CurrentMovement[]> {
    if (passIds.length === 0) return []
    const lookup = {
      name: 'current-movements',
      given: { pass_id: 'uuid' } as const,
      items: passIds.map((id) => ({ pass_id: id })),
    }
    const rows = await selectForEach<CurrentRow>(this.db, workspaceId, lookup, CURRENT_SQL)
    return rows.map((row) => ({
      passId: row.pass_id,
      zoneId: row.zone_id,
      direction: row.direction,
      at: new Date(row.at),
      place: placeOf(row.context, null),
      use: row.use_at === null ? null : { scannedAt: new Date(row.use_at), scanContextKey: row.use_key || null },
    }))
  }
}

function toFound(row: AroundRow): FoundMovements {
  return {
    segment: row.segment,
    sequence: row.sequence,
    previous: toNeighbor(row, 'previous'),
    next: toNeighbor(row, 'next'),
    use:
      row.use_id === null
        ? null
        : {
            scanId: row.use_id,
            scannedAt: new Date(row.use_at),
            scanContextKey: row.use_key || null,
            debitedWindow: row.use_window,
          },
  }
}

function toNeighbor(row: AroundRow, name: Neighbor): StoredMovement | null {
  const scanId = row[`${name}_id`]
  if (scanId === null) return null
  const place = placeOf(row[`${name}_context`], row[`${name}_device`])
  return { scanId, at: new Date(row[`${name}_at`]), direction: row[`${name}_direction`], place }
}

const AROUND = { zone_id: 'uuid', pass_id: 'uuid', at: 'bigint' } as const

const OF_SEGMENT = `from zone_movements m where m.workspace_id = placed.workspace_id and m.pass_id = placed.pass_id
  and m.zone_id = placed.zone_id and m.segment = placed.segment`
const LATEST_FIRST = 'order by m.at desc, m.sequence desc limit 1'

/** Joins the movement and the ledger entry whose ID is in the column `<name>_id`, if any. */
const joined = (name: string) => `left join zone_movements ${name} on ${name}.scan_id = ${name}_id
  left join scans ${name}_scan on ${name}_scan.id = ${name}_id`
const selected = (name: string) => `${name}_id, ${name}.at as ${name}_at, ${name}.direction as ${name}_direction,
  ${name}_scan.context as ${name}_context, ${name}_scan.device_id as ${name}_device`

const AROUND_SQL = `, placed as (
    select n, workspace_id, zone_id, pass_id, at, coalesce((select r.segment from zone_resets r
      where r.zone_id = given.zone_id and r.workspace_id = given.workspace_id
      and r.at <= given.at order by r.at desc, r.segment desc limit 1), 0) as segment
    from given
  ), found as (
    select n, segment,
      1 + coalesce((select max(m.sequence) ${OF_SEGMENT} and m.at = placed.at), 0) as sequence,
      (select m.scan_id ${OF_SEGMENT} and m.at <= placed.at ${LATEST_FIRST}) as previous_id,
      (select m.scan_id ${OF_SEGMENT} and m.at > placed.at order by m.at, m.sequence limit 1) as next_id,
      (select m.use_scan_id ${OF_SEGMENT} and m.at <= placed.at and m.direction = 'in' ${LATEST_FIRST}) as entry_use_id
    from placed
  )
  select n, found.segment, found.sequence, ${selected('previous')}, ${selected('next')},
    used.scan_id as use_id, used.scanned_at as use_at, used.scan_context_key as use_key, used.debited_window as use_window
  from found ${joined('previous')} ${joined('next')} left join accepted_scans used on used.scan_id = entry_use_id`

/**
 * Returns the SQL for the next zone of a pass, by ID. Each zone takes one step in the index, regardless of the number
 * of movements.
 */
const nextZone = (of: string, condition = '') => `(select m.zone_id from zone_movements m
  where m.workspace_id = ${of}.workspace_id and m.pass_id = ${of}.pass_id ${condition} order by m.zone_id limit 1)`

const CURRENT_SQL = `, placed as (
    with recursive visited (n, workspace_id, pass_id, zone_id) as (
      select n, workspace_id, pass_id, ${nextZone('given')} from given
      union all
      select n, workspace_id, pass_id, ${nextZone('visited', 'and m.zone_id > visited.zone_id')}
      from visited where zone_id is not null
    )
    select n, visited.workspace_id, pass_id, zone_id, zones.segment
    from visited join zones on zones.id = zone_id and zones.deleted_at is null
  ), found as (
    select n, (select m.scan_id ${OF_SEGMENT} ${LATEST_FIRST}) as movement_id,
      (select m.use_scan_id ${OF_SEGMENT} and m.direction = 'in' ${LATEST_FIRST}) as entry_use_id
    from placed
  )
  select n, movement.pass_id, movement.zone_id, movement.direction, movement.at, scans.context,
    used.scanned_at as use_at, used.scan_context_key as use_key
  from found join zone_movements movement on movement.scan_id = movement_id join scans on scans.id = movement_id
    left join accepted_scans used on used.scan_id = entry_use_id`
