import { formatRows } from '../bulk/dialect.ts'

/** How a page of a list is written; called for one page after another. */
export type PageFormat<T> = (items: readonly T[]) => string

/** NDJSON: one item a line. */
export function jsonLines(items: readonly unknown[]): string {
  return items.map((item) => `${JSON.stringify(item)}\n`).join('')
}

export type CsvColumn<T> = readonly [title: string, value: (item: T) => string | number | null]

/** CSV, quoted where it must be; its header stands above the first page, or not at all where rows stand there already. */
export function csvFormat<T>(
  columns: readonly CsvColumn<T>[],
  { header, rawCells }: { header: boolean; rawCells: boolean },
): PageFormat<T> {
  let titles = header ? [columns.map(([title]) => title)] : []
  return (items) => {
    const rows = items.map((item) => columns.map(([, value]) => value(item)?.toString() ?? null))
    const text = formatRows([...titles, ...rows], { delimiter: ',', newline: '\n', bom: false, rawCells })
    titles = []
    return text
  }
}
