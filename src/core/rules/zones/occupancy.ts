import type { ZoneOccupancy } from '../../contract/scans/zones.ts'

/** The entries and exits in one bucket and between the same two resets of a zone. */
export interface OccupancyChanges {
  /** The number of resets of the zone before these changes. */
  segment: number
  /** The start of the bucket, in steps since 1970 (see `OccupancyRange.step`). */
  bucket: number
  entries: number
  exits: number
  /** The highest value in this bucket of a running sum: the segment's entries minus its exits since the range began. */
  highest: number
  /** The time when `highest` was first reached. */
  highestAt: Date
}

export interface OccupancyFacts {
  /** The number of people inside before the range. */
  inside: number
  /** The resets in the range, in order. */
  resets: { segment: number; at: Date }[]
  /** The entries and exits in the range, in order of segment and bucket. */
  changes: OccupancyChanges[]
}

interface OccupancyRange {
  from: Date
  /** The end of the range of time, exclusive. */
  to: Date
  /** The length of a bucket in milliseconds. */
  step: number
}

/** Returns the occupancy over time, with an item per bucket. */
export function occupancyOf({ inside: start, resets, changes }: OccupancyFacts, { from, to, step }: OccupancyRange) {
  let inside = start
  let peak = { peak: start, peakAt: from }
  const items: ZoneOccupancy['items'] = []
  const firstReset = resets[0]?.segment ?? Infinity
  let next = 0
  let nextReset = 0
  for (let bucket = Math.floor(from.getTime() / step); bucket * step < to.getTime(); bucket += 1) {
    const item = { at: new Date(bucket * step).toISOString(), entries: 0, exits: 0, inside }
    const end = (bucket + 1) * step
    // Apply changes and resets in order, because resets can occur within a bucket.
    for (;;) {
      const change = changes[next]
      const reset = resets[nextReset]
      const isBefore = change?.bucket === bucket && (!reset || change.segment < reset.segment)
      if (change && isBefore) {
        const reached = (change.segment < firstReset ? start : 0) + change.highest
        if (reached > peak.peak) peak = { peak: reached, peakAt: change.highestAt }
        item.entries += change.entries
        item.exits += change.exits
        inside += change.entries - change.exits
        next += 1
      } else if (reset && reset.at.getTime() < end) {
        inside = 0
        nextReset += 1
      } else break
    }
    item.inside = inside
    items.push(item)
  }
  const sumOf = (name: 'entries' | 'exits') => items.reduce((sum, item) => sum + item[name], 0)
  return {
    peak: peak.peak,
    peakAt: peak.peakAt.toISOString(),
    entries: sumOf('entries'),
    exits: sumOf('exits'),
    items,
  }
}
