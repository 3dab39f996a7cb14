import type { PageFormat } from '../arguments/list-flags.ts'
import { formatRows, outputDialect } from '../bulk/csv.ts'
import { chooseColumns, columnsOf, type ListColumn, type ListShape, read } from './shape.ts'

/**
 * Formats rows as CSV with the requested columns, or all of them. Set `header` to `false` when rows are already
 * written. This module is separate, so that the CSV library is loaded only when needed.
 */
export function csvOf<T>(
  shape: ListShape<T>,
  { names, header, rawCells }: { names?: readonly string[] | undefined; header: boolean; rawCells: boolean },
): PageFormat<T> {
  const columns = names ? chooseColumns(shape, names) : csvColumns(shape)
  let titles = header ? [columns.map(({ name }) => name)] : []
  return (items) => {
    const rows = items.map((item) => columns.map((column) => read(column, item)?.toString() ?? null))
    const text = formatRows([...titles, ...rows], outputDialect({ rawCells }))
    titles = []
    return text
  }
}

/** Returns the default columns of CSV. */
export function csvColumns<T>(shape: ListShape<T>): ListColumn<T>[] {
  return columnsOf(shape).filter(({ inCsv = true }) => inCsv)
}
