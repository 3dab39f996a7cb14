import type { Zone, ZoneOccupancy } from '../../core/contract/scans/zones.ts'
import type { Api } from './desk-api.ts'

export type Minute = ZoneOccupancy['items'][number]

/** The last 24 hours of a zone, up to the end of the last full minute. */
export interface ZoneCurve {
  zoneId: string
  /** One item per minute, oldest first, without the idle minutes that `withoutIdleStart` removes. */
  minutes: Minute[]
  entries: number
  exits: number
  peak: number
  peakAt: string
}

export const MAX_ZONES_SHOWN = 12

const HALF_DAY_MS = 43_200_000

/** The minimum length of a curve, in minutes. */
const SHORTEST = 240

/** The latest curves of each API. Polls within the same minute reuse them. */
const latest = new WeakMap<Api, { key: string; curves: ZoneCurve[] }>()

/**
 * Loads the curves of the zones that the page shows, at most once a minute, because the curves of a day are far more
 * work for the server than the current numbers of people.
 * @param minute the start of the current minute
 */
export async function loadCurves(api: Api, projectId: string, minute: string): Promise<ZoneCurve[]> {
  const { items } = await api.zones.list({ query: { projectId, limit: 100 } })
  const shown = shownZones(items).map(({ id }) => id)
  const key = [minute, ...shown.toSorted()].join(' ')
  const known = latest.get(api)
  if (known?.key === key) return known.curves
  const days: ZoneCurve[] = []
  for (const id of shown) days.push(await loadCurve(api, id, minute))
  const curves = withoutIdleStart(days)
  latest.set(api, { key, curves })
  return curves
}

/** Loads the number of entries since a time, by zone ID, for each zone that the page shows. */
export async function loadEntries(api: Api, projectId: string, from: string): Promise<ReadonlyMap<string, number>> {
  const { items } = await api.zones.list({ query: { projectId, limit: 100 } })
  const found = new Map<string, number>()
  for (const { id } of shownZones(items)) {
    const { entries } = await api.zones.occupancy({ params: { id }, query: { by: 'minute', from } })
    found.set(id, entries)
  }
  return found
}

/** Loads the curve of a zone in two halves, because a response has fewer items than a day has minutes. */
async function loadCurve(api: Api, id: string, minute: string): Promise<ZoneCurve> {
  const at = (halvesBefore: number) => new Date(Date.parse(minute) - halvesBefore * HALF_DAY_MS).toISOString()
  const read = (from: string, to: string) => api.zones.occupancy({ params: { id }, query: { by: 'minute', from, to } })
  const [earlier, later] = [await read(at(2), at(1)), await read(at(1), at(0))]
  const { peak, peakAt } = later.peak > earlier.peak ? later : earlier
  return {
    zoneId: id,
    minutes: [...earlier.items, ...later.items],
    entries: earlier.entries + later.entries,
    exits: earlier.exits + later.exits,
    peak,
    peakAt,
  }
}

/**
 * Removes the minutes before the first movement in any zone, but keeps at least SHORTEST minutes. All curves lose the
 * same number of minutes, so that their times are comparable.
 */
function withoutIdleStart(curves: ZoneCurve[]): ZoneCurve[] {
  const idle = curves.map(({ minutes }) => {
    const first = minutes.findIndex(({ entries, exits, inside }) => entries > 0 || exits > 0 || inside !== 0)
    return Math.min(first < 0 ? Number.POSITIVE_INFINITY : first, minutes.length - SHORTEST)
  })
  const start = Math.max(0, Math.min(...idle))
  return curves.map((curve) => ({ ...curve, minutes: curve.minutes.slice(start) }))
}

/** Returns at most `most` zones, ordered by name. If there are more, returns the fullest zones. */
export function shownZones(zones: readonly Zone[], most = MAX_ZONES_SHOWN): Zone[] {
  const share = ({ inside, capacity }: Zone) => inside / (capacity ?? Number.POSITIVE_INFINITY)
  const fullest = zones.toSorted((a, b) => share(b) - share(a) || b.inside - a.inside)
  const byName = new Intl.Collator(undefined, { numeric: true })
  return fullest.slice(0, most).toSorted((a, b) => byName.compare(a.name, b.name))
}

/**
 * Returns the used share of the capacity, rounded down to percents so that only a full zone has 1; `null` if unlimited.
 */
export function shareOf({ inside, capacity }: Pick<Zone, 'inside' | 'capacity'>): number | null {
  return capacity === null ? null : Math.floor((Math.max(0, inside) * 100) / capacity) / 100
}

/** Consecutive minutes of a curve, combined: the sums of their entries and exits. */
export interface Stretch {
  at: string
  entries: number
  exits: number
  /** The number of people inside at the end of these minutes. */
  inside: number
}

/** Combines consecutive minutes whose starts have the same key. */
export function stretchesOf(minutes: readonly Minute[], keyOf: (at: Date) => number): Stretch[] {
  const stretches: (Stretch & { key: number })[] = []
  for (const { at, entries, exits, inside } of minutes) {
    const key = keyOf(new Date(at))
    const last = stretches.at(-1)
    if (last?.key === key) {
      last.entries += entries
      last.exits += exits
      last.inside = inside
    } else stretches.push({ key, at, entries, exits, inside })
  }
  return stretches
}

/** Returns the start of the hour in the reader's time zone. In some zones, hours start at half past in UTC. */
export function localHourOf(at: Date): number {
  return at.getTime() - at.getMinutes() * 60_000
}
