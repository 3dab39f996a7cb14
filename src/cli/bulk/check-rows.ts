import type { CsvRow } from './csv.ts'
import { DuplicateIds } from './duplicates.ts'
import type { CheckedRow } from './row-action.ts'

/** What a row asks for, or everything that is wrong with it. */
export type RowCheck<Item> = (cells: readonly string[]) => { item: Item } | { errors: string[] }

/**
 * Checks row by row. Of rows with one external id only the first may have its content: several are in flight at once,
 * and nobody could say which came last. `idColumn` is the name of the column of the external id.
 */
export async function* checkRows<Item extends { externalPassId: string }>(
  rows: AsyncIterable<CsvRow>,
  idColumn: string,
  check: RowCheck<Item>,
): AsyncGenerator<CheckedRow<Item>> {
  const ids = new DuplicateIds()
  for await (const row of rows) {
    if (row.problem) {
      yield { ...row, error: row.problem }
      continue
    }
    const checked = check(row.cells)
    if ('errors' in checked) {
      yield { ...row, error: checked.errors.join('; ') }
      continue
    }
    const content = JSON.stringify(checked.item)
    const earlier = ids.add(checked.item.externalPassId, content, row.line)
    yield earlier && !earlier.isSame
      ? { ...row, error: `${idColumn}: Stands in line ${earlier.line} already, with other content` }
      : { ...row, item: checked.item, size: Buffer.byteLength(content), isRepeat: earlier !== undefined }
  }
}
