import type { PageFormat } from '../arguments/list-flags.ts'
import { formatRows } from '../bulk/csv.ts'
import { chooseColumns, columnsOf, type ListShape, read } from './shape.ts'

/**
 * Formats rows as CSV with the requested columns, or all of them. Set `header` to `false` when rows are already
 * written. This module is separate, so that the CSV library is loaded only when needed.
 */
export function csvOf<T>(
  shape: ListShape<T>,
  { names, header, rawCells }: { names?: readonly string[] | undefined; header: boolean; rawCells: boolean },
): PageFormat<T> {
  const columns = names ? chooseColumns(shape, names) : columnsOf(shape).filter(({ inCsv = true }) => inCsv)
  let titles = header ? [columns.map(({ name }) => name)] : []
  return (items) => {
    const rows = items.map((item) => columns.map((column) => read(column, item)?.toString() ?? null))
    const text = formatRows([...titles, ...rows], { delimiter: ',', newline: '\n', bom: false, rawCells })
    titles = []
    return text
  }
}
