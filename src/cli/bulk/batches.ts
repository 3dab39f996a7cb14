import type { CheckedRow } from './row-action.ts'

/** Rows that are sent, answered and written down together. */
export interface Batch<Item> {
  rows: CheckedRow<Item>[]
  /** Bytes of the input up to the end of the last row. */
  bytes: number
}

/** What one request takes (100 passes), and below the 1 MiB that a server takes as a body. */
const MAX_ROWS = 100
const MAX_BYTES = 900 * 1024

/** Groups rows in their order; the first `skip` rows, done by an earlier run, are left out. */
export async function* batchRows<Item>(
  rows: AsyncIterable<CheckedRow<Item>>,
  skip: number,
): AsyncGenerator<Batch<Item>> {
  let batch: CheckedRow<Item>[] = []
  let size = 0
  let index = 0
  for await (const row of rows) {
    index += 1
    if (index <= skip) continue
    const rowSize = 'item' in row ? row.size : 0
    if (batch.length === MAX_ROWS || size + rowSize > MAX_BYTES) {
      yield { rows: batch, bytes: batch.at(-1)!.bytes }
      batch = []
      size = 0
    }
    batch.push(row)
    size += rowSize
  }
  if (batch.length > 0) yield { rows: batch, bytes: batch.at(-1)!.bytes }
}
