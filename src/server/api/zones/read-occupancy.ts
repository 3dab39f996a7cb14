import type { OccupancyUnit, ZoneOccupancy } from '../../../core/contract/scans/zones.ts'
import { MAX_BUCKETS } from '../../../core/contract/schemas/common.ts'
import { validationError } from '../../../core/errors.ts'
import { occupancyOf } from '../../../core/rules/zones/occupancy.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'
import type { RequestContext } from '../../context.ts'

const STEP_MS: Record<OccupancyUnit, number> = { minute: 60_000, hour: 3_600_000 }
/** The length of the default range, in milliseconds, by unit. Its buckets fit into one response. */
const DEFAULT_RANGE_MS: Record<OccupancyUnit, number> = { minute: 2 * STEP_MS.hour, hour: 24 * STEP_MS.hour }

/** @throws ApiError VALIDATION_ERROR if the range is empty or has too many buckets */
export async function readOccupancy(
  zone: StoredZone,
  query: { from?: string | undefined; to?: string | undefined; by: OccupancyUnit },
  { store, workspaceId, now }: RequestContext,
): Promise<ZoneOccupancy> {
  const to = query.to === undefined ? now : new Date(query.to)
  const from = query.from === undefined ? new Date(to.getTime() - DEFAULT_RANGE_MS[query.by]) : new Date(query.from)
  if (from >= to) throw validationError([{ path: ['from'], message: 'Must be before "to" (default: now)' }])
  const step = STEP_MS[query.by]
  const range = { from, to, step }
  const buckets = Math.ceil(to.getTime() / step) - Math.floor(from.getTime() / step)
  if (buckets > MAX_BUCKETS) {
    const message = `Is more than ${MAX_BUCKETS} ${query.by}s before the end: choose a shorter time range, or longer periods`
    throw validationError([{ path: ['from'], message }])
  }
  const found = await store.occupancies.find(workspaceId, { zoneId: zone.id, ...range })
  return { inside: zone.inside, capacity: zone.capacity, ...occupancyOf(found, range) }
}
