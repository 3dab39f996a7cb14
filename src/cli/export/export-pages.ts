import type { Page } from '../../core/contract/common.ts'
import type { PageFormat } from '../command/page-format.ts'
import { type Progress, startProgress } from '../command/progress.ts'

export interface ExportOptions<T> {
  /** Lists what is exported; what it has to say meanwhile stands beside the progress. */
  pages: (note: (message: string) => void) => AsyncIterable<Page<T>>
  format: PageFormat<T>
  /** Rows that an earlier run wrote. */
  startRows: number
  /** Takes a page and what is known then; false where nobody reads any more. */
  write: (text: string, point: ExportedPoint) => Promise<boolean>
  stop: AbortSignal
  showProgress: boolean
  note: (message: string) => void
}

export interface ExportedPoint {
  /** Rows written, those of earlier runs included. */
  rows: number
  /** Where the rest begins; null where nothing is left. */
  cursor: string | null
}

export interface ExportResult {
  rows: number
  /** Where the rest begins: null where nothing is left, undefined where not even a first page came. */
  cursor: string | null | undefined
}

/** Writes page after page until the list ends, its reader has enough, or it is stopped: one page is held at a time. */
export async function exportPages<T>(options: ExportOptions<T>): Promise<ExportResult> {
  const { format, startRows, write, stop } = options
  const result: ExportResult = { rows: startRows, cursor: undefined }
  let progress: Progress | undefined
  const pages = options.pages((message) => (progress ?? options).note(message))
  try {
    for await (const page of pages) {
      const start = { done: startRows, rows: startRows, failed: 0 }
      if (options.showProgress) progress ??= await startProgress({ total: page.total, start })
      const point = { rows: result.rows + page.items.length, cursor: page.nextCursor }
      const isRead = await write(format(page.items), point)
      Object.assign(result, point)
      progress?.update({ done: point.rows, rows: point.rows, failed: 0 })
      if (!isRead || stop.aborted) break
    }
  } catch (error) {
    // The request in flight was called off.
    if (!stop.aborted) throw error
  } finally {
    progress?.[Symbol.dispose]()
  }
  return result
}
