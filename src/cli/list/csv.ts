import type { PageFormat } from '../arguments/list.ts'
import { formatRows } from '../bulk/csv.ts'
import { chooseColumns, type ListShape, read } from './shape.ts'

/**
 * CSV of every column where none is named, quoted where it must be. The header stands above the first page; `header` is
 * false where rows stand there already. Beside the table, since what writes CSV is loaded where it is asked for.
 */
export function csvOf<T>(
  shape: ListShape<T>,
  { names, header, rawCells }: { names?: readonly string[] | undefined; header: boolean; rawCells: boolean },
): PageFormat<T> {
  const columns = chooseColumns(shape, names ?? shape.csv ?? shape.columns.map(({ name }) => name))
  let titles = header ? [columns.map(({ name }) => name)] : []
  return (items) => {
    const rows = items.map((item) => columns.map((column) => read(column, item)?.toString() ?? null))
    const text = formatRows([...titles, ...rows], { delimiter: ',', newline: '\n', bom: false, rawCells })
    titles = []
    return text
  }
}
