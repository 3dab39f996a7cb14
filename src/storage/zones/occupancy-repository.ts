import type { OccupancyFacts } from '../../core/rules/zones/occupancy.ts'
import { runPrepared } from '../db/prepared.ts'
import { Repository } from '../db/repository.ts'

export interface OccupancyRequest {
  zoneId: string
  from: Date
  /** The end of the range, which is excluded. */
  to: Date
  /** The length of a bucket in milliseconds. */
  step: number
}

interface Row {
  segment: number
  bucket: number
  entries: number
  exits: number
  highest: number
  highest_at: number
}

const OF_SEGMENT = 'where zone_id = :zoneId and workspace_id = :workspaceId and segment = :segment'

/** The number of people in a zone over time. Reads index ranges of the requested time. */
export class Occupancies extends Repository {
  async find(workspaceId: string, { zoneId, from, to, step }: OccupancyRequest): Promise<OccupancyFacts> {
    const values = { workspaceId, zoneId, from: from.getTime(), to: to.getTime() }
    const resets = await runPrepared<{ segment: number; at: number }>(
      this.db,
      'occupancy-resets',
      values,
      () => `select segment, at from zone_resets
        where zone_id = :zoneId and workspace_id = :workspaceId and at > :from and at < :to order by segment`,
    )
    const [start] = await runPrepared<{ segment: number; at: number }>(
      this.db,
      'occupancy-segment',
      values,
      () => `select segment, at from zone_resets where zone_id = :zoneId and workspace_id = :workspaceId and at <= :from
        order by at desc, segment desc limit 1`,
    )
    const first = start?.segment ?? 0
    const since = start?.at ?? Number.MIN_SAFE_INTEGER
    const inside = await this.insideAt(workspaceId, { zoneId, segment: first, since, from: from.getTime() })
    const segments = { first, last: resets.at(-1)?.segment ?? first }
    const rows = await runPrepared<Row>(this.db, 'occupancy', { ...values, ...segments, step }, () => OCCUPANCY_SQL)
    return {
      inside,
      resets: resets.map(({ segment, at }) => ({ segment, at: new Date(at) })),
      changes: rows.map(({ highest_at, ...row }) => ({ ...row, highestAt: new Date(highest_at) })),
    }
  }

  /**
   * Returns the number of people inside at `from`. In the current segment, subtracts the changes since `from` from the
   * current number. Most requests are about the last hours, so this reads fewer rows than a sum of the earlier changes.
   */
  private async insideAt(
    workspaceId: string,
    segment: { zoneId: string; segment: number; since: number; from: number },
  ): Promise<number> {
    const sumOf = (table: string, range: string) =>
      `coalesce((select sum(delta) from ${table} ${OF_SEGMENT} and ${range}), 0)`
    const sums = (range: string) => `${sumOf('zone_movements', range)} + ${sumOf('zone_adjustments', range)}`
    const [row] = await runPrepared<{ inside: number }>(
      this.db,
      'occupancy-start',
      { workspaceId, ...segment },
      () => `select case when segment = :segment then inside - (${sums('at >= :from')})
        else ${sums('at >= :since and at < :from')} end as inside from zones where id = :zoneId and workspace_id = :workspaceId`,
    )
    return row?.inside ?? 0
  }
}

const changesOf = (table: string) => `select segment, at, delta from ${table} where zone_id = :zoneId
  and workspace_id = :workspaceId and segment >= :first and segment <= :last and at >= :from and at < :to and delta <> 0`

const OCCUPANCY_SQL = `with changes as (
    select segment, at, sum(delta) as delta, sum(case when delta > 0 then delta else 0 end) as entries,
      sum(case when delta < 0 then -delta else 0 end) as exits
    from (${changesOf('zone_movements')} union all ${changesOf('zone_adjustments')}) as each_change group by segment, at
  ), running as (
    select segment, at, at / :step as bucket, entries, exits, sum(delta) over (partition by segment order by at) as reached
    from changes
  ), ranked as (
    select segment, at, bucket, entries, exits, reached, max(reached) over (partition by segment, bucket) as highest
    from running
  )
  select segment, bucket, cast(sum(entries) as bigint) as entries, cast(sum(exits) as bigint) as exits,
    cast(max(highest) as bigint) as highest, min(case when reached = highest then at end) as highest_at
  from ranked group by segment, bucket order by segment, bucket`
