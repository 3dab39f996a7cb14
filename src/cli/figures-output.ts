import { DateTime } from 'luxon'
import type { ProjectFigures } from '../core/contract/projects.ts'
import type { ScanStatsByTime } from '../core/contract/scans/scans.ts'
import type { ZoneOccupancy } from '../core/contract/scans/zones.ts'
import { formatRows, outputDialect } from './bulk/csv.ts'
import { UsageError } from './command/cli-error.ts'
import { type Column, count, localZone, table } from './command/output.ts'

export function timeZoneOf({ 'time-zone': zone }: { 'time-zone'?: string | undefined }): string {
  return zone ?? localZone()
}

export interface Canvas {
  zone: string
  width?: number | undefined
}

type Series = [name: string, values: number[]]

/** Returns all figures in the order of the API. Scans have one figure for each reason in the response. */
function seriesOf({ items }: ProjectFigures): Series[] {
  const series = new Map<string, number[]>()
  items.forEach(({ at: _, ...figures }, index) => {
    for (const [name, value] of namedNumbers(figures)) {
      const values = series.get(name) ?? items.map(() => 0)
      values[index] = value
      series.set(name, values)
    }
  })
  return [...series]
}

/** Returns the numbers in an object, each with its path, such as installed.apple or joined.window.seen. */
function namedNumbers(figures: object, path = ''): [name: string, n: number][] {
  return Object.entries(figures).flatMap(([name, value]): [string, number][] =>
    typeof value === 'number' ? [[path + name, value]] : namedNumbers(value, `${path}${name}.`),
  )
}

const STEPS = '▁▂▃▄▅▆▇█'
const BESIDE_LINE = 34
const LONGEST_LINE = 60

/**
 * Returns a line per figure with its sum and a sparkline. If the buckets do not fit, each character of the sparkline is
 * the sum of several buckets.
 */
export function sparklines(figures: ProjectFigures, width = Number.POSITIVE_INFINITY): string {
  const room = Math.max(8, Math.min(LONGEST_LINE, width - BESIDE_LINE))
  const columns: Column<Series>[] = [
    { title: 'figure', value: ([name]) => name, whole: true },
    { title: 'sum', value: ([, values]) => count(sum(values)), whole: true },
    { title: '', value: ([, values]) => sparkline(values, room), whole: true },
  ]
  return table(seriesOf(figures), columns)
}

/** Returns a sparkline: a space for zero, and at least the lowest bar for any other value. */
function sparkline(values: number[], room: number): string {
  const each = Math.ceil(values.length / room)
  const steps = Array.from({ length: Math.ceil(values.length / each) }, (_, n) =>
    sum(values.slice(n * each, (n + 1) * each)),
  )
  const most = Math.max(...steps)
  return steps.map((n) => (n === 0 ? ' ' : STEPS[Math.ceil((n / most) * STEPS.length) - 1])).join('')
}

const LONGEST_BAR = 30

/** Returns a column of bars. `reserved` is the width of the other columns. */
function barColumn<T>(
  rows: readonly T[],
  numberOf: (row: T) => number,
  { reserved, width = Number.POSITIVE_INFINITY }: { reserved: number; width: number | undefined },
): Column<T> {
  const most = Math.max(1, ...rows.map(numberOf))
  const longest = Math.max(0, Math.min(LONGEST_BAR, width - reserved))
  const bar = (row: T) => '█'.repeat(Math.max(0, Math.ceil((numberOf(row) / most) * longest)))
  return { title: '', value: bar, whole: true }
}

/** Draws one figure with a bar for each bucket. @throws UsageError for an unknown name */
export function drawFigure(figures: ProjectFigures, name: string, { zone, width }: Canvas): string {
  const series = seriesOf(figures)
  const found = series.find(([known]) => known === name)
  const isScan = /^scans\.\w+$/.test(name)
  if (!found && !isScan) {
    throw new UsageError(`Figure ${name} not found`, {
      hint: `the figures are ${series.map(([known]) => known).join(', ')}.`,
    })
  }
  const values = found?.[1] ?? figures.items.map(() => 0)
  const rows = figures.items.map(({ at }, index) => ({ at, n: values[index]! }))
  return table(rows, [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    { title: name, value: ({ n }) => count(n), whole: true },
    barColumn(rows, ({ n }) => n, { reserved: 36, width }),
  ])
}

/** Returns a line for each bucket. Omits figures that are always zero. */
export function figuresTable(figures: ProjectFigures, { zone, width }: Canvas): string {
  const series = seriesOf(figures).filter(([, values]) => values.some((n) => n > 0))
  const rows = figures.items.map(({ at }, index) => ({ at, index }))
  const columns: Column<(typeof rows)[number]>[] = [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    ...series.map(([name, values]) => ({
      title: name,
      value: ({ index }: { index: number }) => count(values[index]!),
    })),
  ]
  return table(rows, columns, { width })
}

export function figuresCsv(figures: ProjectFigures): string {
  const series = seriesOf(figures)
  const rows = figures.items.map(({ at }, index) => [at, ...series.map(([, values]) => String(values[index]))])
  return formatRows([['at', ...series.map(([name]) => name)], ...rows], outputDialect({ rawCells: true }))
}

function inZone(at: string, zone: string): string {
  return DateTime.fromISO(at, { zone }).toFormat('yyyy-MM-dd HH:mmZZ')
}

function sum(values: number[]): number {
  return values.reduce((all, n) => all + n, 0)
}

export function showOccupancy({ items }: ZoneOccupancy, zone: string, width?: number): string {
  return table(items, [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    { title: 'entries', value: ({ entries }) => count(entries), whole: true },
    { title: 'exits', value: ({ exits }) => count(exits), whole: true },
    { title: 'inside', value: ({ inside }) => count(inside), whole: true },
    barColumn(items, ({ inside }) => inside, { reserved: 54, width }),
  ])
}

export function showByTime({ items }: ScanStatsByTime, zone: string, width?: number): string {
  return table(items, [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    { title: 'scans', value: ({ totalScans }) => count(totalScans), whole: true },
    { title: 'denied', value: ({ totalDenied }) => count(totalDenied), whole: true },
    barColumn(items, ({ totalScans }) => totalScans, { reserved: 46, width }),
  ])
}
