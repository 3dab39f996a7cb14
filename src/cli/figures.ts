import { DateTime } from 'luxon'
import type { ScanStatsByTime } from '../core/contract/scans.ts'
import { type Column, count, table } from './command/output.ts'

/** How figures over time look in a terminal. */

const LONGEST_BAR = 30
/** What the other columns take of a terminal. */
const BESIDE_BARS = 46

/** Attempts over time, in the zone that the figures were asked for, each with a bar beside it: as long as it can be where most came at once. */
export function showByTime({ items }: ScanStatsByTime, zone: string, width = Number.POSITIVE_INFINITY): string {
  const most = Math.max(1, ...items.map(({ totalScans }) => totalScans))
  const longest = Math.max(0, Math.min(LONGEST_BAR, width - BESIDE_BARS))
  const columns: Column<ScanStatsByTime['items'][number]>[] = [
    { title: 'from', value: ({ at }) => DateTime.fromISO(at, { zone }).toFormat('yyyy-MM-dd HH:mmZZ'), whole: true },
    { title: 'scans', value: ({ totalScans }) => count(totalScans), whole: true },
    { title: 'denied', value: ({ totalDenied }) => count(totalDenied), whole: true },
    { title: '', value: ({ totalScans }) => '█'.repeat(Math.ceil((totalScans / most) * longest)), whole: true },
  ]
  return table(items, columns)
}
