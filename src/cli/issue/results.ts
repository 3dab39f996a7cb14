import type { BatchResult } from '../../core/contract/passes.ts'
import type { Issue } from '../../core/errors.ts'
import type { Batch } from './batches.ts'
import type { Columns } from './columns.ts'
import type { CheckedRow } from './row-check.ts'

/** A row that was not issued, with its place in the file for people. */
export interface FailedRow {
  line: number
  externalPassId: string
  error: string
}

/** What a batch comes to: the rows of both files that are written, in the order of the input. */
export interface BatchOutcome {
  links: (string | null)[][]
  failures: string[][]
  failed: FailedRow[]
  created: number
}

const linkColumns = ['passId', 'appleLink', 'googleLink', 'smartLink']

export function linksHeader(columns: Columns): string[] {
  return [...kept(columns.header, columns, linkColumns), ...linkColumns]
}

export function failuresHeader(columns: Columns): string[] {
  return [...kept(columns.header, columns, []), columns.errorColumn]
}

/** Joins the rows of a batch to the answers for those that were sent, which keep their order. */
export function outcomeOf(batch: Batch, results: readonly BatchResult[], columns: Columns): BatchOutcome {
  const outcome: BatchOutcome = { links: [], failures: [], failed: [], created: 0 }
  let answered = 0
  for (const row of batch.rows) {
    const result = 'item' in row ? results[answered++] : undefined
    const error = errorOf(row, result)
    if (error !== undefined) {
      outcome.failures.push([...kept(row.cells, columns, []), error])
      outcome.failed.push({ line: row.line, externalPassId: row.cells[columns.externalId] ?? '', error })
    } else if (result?.pass) {
      const { id, hostedLinks } = result.pass
      const links = [id, hostedLinks.apple, hostedLinks.google, hostedLinks.smart]
      outcome.links.push([...kept(row.cells, columns, linkColumns), ...links])
    }
  }
  outcome.created = batch.rows.length - outcome.failed.length
  return outcome
}

/** The cells without those of columns that are written anew. */
function kept(cells: readonly string[], { header, errorColumn }: Columns, without: readonly string[]): string[] {
  return header.flatMap((name, index) => {
    return name === errorColumn || without.includes(name) ? [] : [cells[index] ?? '']
  })
}

function errorOf(row: CheckedRow, result: BatchResult | undefined): string | undefined {
  if ('error' in row) return row.error
  if (result?.success) return undefined
  const { code, message, details } = result?.error ?? { code: 'INTERNAL_ERROR', message: 'The server gave no result' }
  const issues = Array.isArray(details?.issues) ? (details.issues as Issue[]) : []
  const reasons = issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  return `${code}: ${reasons.length > 0 ? reasons.join('; ') : message}`
}
