import type { BatchResult, PassCreate } from '../../core/contract/passes.ts'
import { checkRows } from '../bulk/check-rows.ts'
import { errorLine } from '../bulk/results.ts'
import type { RowAction, RowResult } from '../bulk/row-action.ts'
import { planColumns } from './columns.ts'
import { compileRow, declaredVariables } from './row-check.ts'

export interface IssueOptions {
  templateId: string
  externalIdColumn: string
  labelColumn: string
  /** Check every row and send nothing. */
  dryRun: boolean
  /** Batches in flight at once. */
  concurrency: number
}

/** Makes a pass of each row, a hundred in a request. Repeating one makes no second pass. */
export function issueAction({ templateId, dryRun, concurrency, ...options }: IssueOptions): RowAction<PassCreate> {
  return {
    command: 'issue',
    settings: {
      '--template': templateId,
      '--external-id-column': options.externalIdColumn,
      '--label-column': options.labelColumn,
    },
    batchesInFlight: concurrency,
    resultColumns: ['passId', 'appleLink', 'googleLink', 'smartLink'],
    async plan(client, header) {
      const schema = await client.templates.variablesSchema({ params: { id: templateId } })
      const template = { id: templateId, variables: declaredVariables(schema) }
      const columns = planColumns(header, template.variables, options)
      const check = compileRow(columns, template)
      return { columns, check: (rows) => checkRows(rows, options.externalIdColumn, check) }
    },
    async send(passes, { client }) {
      if (dryRun) return passes.map(() => ({ cells: [] }))
      return (await client.passes.createBatch({ body: { passes } })).results.map(resultOf)
    },
  }
}

function resultOf({ pass, error }: BatchResult): RowResult {
  if (!pass) return { error: errorLine(error ?? { code: 'INTERNAL_ERROR', message: 'The server gave no result' }) }
  const { apple, google, smart } = pass.hostedLinks
  return { cells: [pass.id, apple, google, smart] }
}
