import { DateTime } from 'luxon'
import type { ProjectFigures } from '../core/contract/projects.ts'
import type { ScanStatsByTime } from '../core/contract/scans.ts'
import { formatRows } from './bulk/csv.ts'
import { UsageError } from './command/errors.ts'
import { type Column, count, table } from './command/output.ts'

/** How figures over time look in a terminal. */

type Item = ProjectFigures['items'][number]

/** Where a figure is drawn. */
export interface Canvas {
  zone: string
  width?: number | undefined
}

/** A figure by its name, and what it was in each bucket. */
type Series = [name: string, values: number[]]

/** Every figure, in the order of the interface; of scans the reasons that came. */
function seriesOf({ items }: ProjectFigures): Series[] {
  const series = new Map<string, number[]>()
  items.forEach((item, index) => {
    for (const [name, value] of Object.entries(flatten(item))) {
      const values = series.get(name) ?? items.map(() => 0)
      values[index] = value
      series.set(name, values)
    }
  })
  return [...series]
}

function flatten({ at: _, ...figures }: Item): Record<string, number> {
  return Object.fromEntries(
    Object.entries(figures).flatMap(([name, value]) =>
      typeof value === 'number'
        ? [[name, value] as const]
        : Object.entries(value).map(([kind, n]) => [`${name}.${kind}`, n] as const),
    ),
  )
}

const STEPS = '▁▂▃▄▅▆▇█'
/** What the name and the sum of a figure take of a terminal. */
const BESIDE_LINE = 34
const LONGEST_LINE = 60

/** A line for each figure: its sum, and how it went; several buckets are one step where there are more than fit. */
export function sparklines(figures: ProjectFigures, width = Number.POSITIVE_INFINITY): string {
  const room = Math.max(8, Math.min(LONGEST_LINE, width - BESIDE_LINE))
  const columns: Column<Series>[] = [
    { title: 'figure', value: ([name]) => name, whole: true },
    { title: 'sum', value: ([, values]) => count(sum(values)), whole: true },
    { title: '', value: ([, values]) => sparkline(values, room), whole: true },
  ]
  return table(seriesOf(figures), columns)
}

/** Nothing is a space, and whatever there was at least the lowest step. */
function sparkline(values: number[], room: number): string {
  const each = Math.ceil(values.length / room)
  const steps = Array.from({ length: Math.ceil(values.length / each) }, (_, n) =>
    sum(values.slice(n * each, (n + 1) * each)),
  )
  const most = Math.max(...steps)
  return steps.map((n) => (n === 0 ? ' ' : STEPS[Math.ceil((n / most) * STEPS.length) - 1])).join('')
}

const LONGEST_BAR = 30
/** What the beginning of a bucket and its number take. */
const BESIDE_BARS = 36

/**
 * One figure, a bar for each bucket.
 * @throws UsageError for a name that is none
 */
export function drawFigure(figures: ProjectFigures, name: string, { zone, width }: Canvas): string {
  const series = seriesOf(figures)
  const found = series.find(([known]) => known === name)
  const isScan = /^scans\.\w+$/.test(name)
  if (!found && !isScan) {
    throw new UsageError(`There is no figure ${name}`, {
      hint: `there are ${series.map(([known]) => known).join(', ')}.`,
    })
  }
  const values = found?.[1] ?? figures.items.map(() => 0)
  const most = Math.max(1, ...values)
  const longest = Math.max(0, Math.min(LONGEST_BAR, (width ?? Number.POSITIVE_INFINITY) - BESIDE_BARS))
  const rows = figures.items.map(({ at }, index) => ({ at, n: values[index]! }))
  return table(rows, [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    { title: name, value: ({ n }) => count(n), whole: true },
    { title: '', value: ({ n }) => '█'.repeat(Math.ceil((n / most) * longest)), whole: true },
  ])
}

/** A line for each bucket, without the figures that were nothing all along. */
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

/** Every figure of every bucket. */
export function figuresCsv(figures: ProjectFigures): string {
  const series = seriesOf(figures)
  const rows = figures.items.map(({ at }, index) => [at, ...series.map(([, values]) => String(values[index]))])
  return formatRows([['at', ...series.map(([name]) => name)], ...rows], {
    delimiter: ',',
    newline: '\n',
    bom: false,
    rawCells: true,
  })
}

function inZone(at: string, zone: string): string {
  return DateTime.fromISO(at, { zone }).toFormat('yyyy-MM-dd HH:mmZZ')
}

function sum(values: number[]): number {
  return values.reduce((all, n) => all + n, 0)
}

/** What the other columns of scans over time take of a terminal. */
const BESIDE_SCANS = 46

/** Attempts over time, in the zone that the figures were asked for, each with a bar beside it: as long as it can be where most came at once. */
export function showByTime({ items }: ScanStatsByTime, zone: string, width = Number.POSITIVE_INFINITY): string {
  const most = Math.max(1, ...items.map(({ totalScans }) => totalScans))
  const longest = Math.max(0, Math.min(LONGEST_BAR, width - BESIDE_SCANS))
  return table(items, [
    { title: 'from', value: ({ at }) => inZone(at, zone), whole: true },
    { title: 'scans', value: ({ totalScans }) => count(totalScans), whole: true },
    { title: 'denied', value: ({ totalDenied }) => count(totalDenied), whole: true },
    { title: '', value: ({ totalScans }) => '█'.repeat(Math.ceil((totalScans / most) * longest)), whole: true },
  ])
}
