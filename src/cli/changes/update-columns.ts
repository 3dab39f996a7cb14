import {
  badHeader,
  type HeaderColumn,
  headerProblems,
  missingColumn,
  namelessWarning,
  variableColumns,
} from '../bulk/header.ts'
import type { Columns } from '../bulk/row-action.ts'

export interface UpdateColumnOptions {
  externalIdColumn: string
  /** Undefined where nobody named one: a column `label` is then the label where there is one. */
  labelColumn: string | undefined
  /** Whether a flag changes every pass, so that a file of ids alone has something to do. */
  changesAll: boolean
}

export interface UpdateColumns extends Columns {
  /** -1 where labels stay. */
  label: number
  variables: HeaderColumn[]
}

/** @throws CliError that lists everything that keeps the file from being used. */
export function planUpdateColumns(header: string[], options: UpdateColumnOptions): UpdateColumns {
  const { externalIdColumn, labelColumn = 'label', changesAll } = options
  const errorColumn = 'error'
  const variables = variableColumns(header, [externalIdColumn, labelColumn, errorColumn])
  const label = header.indexOf(labelColumn)
  const hasSomething = label >= 0 || variables.length > 0 || changesAll
  const problems = [
    ...missingColumn(header, externalIdColumn, 'the external id', '--external-id-column'),
    ...(options.labelColumn ? missingColumn(header, labelColumn, 'the label', '--label-column') : []),
    ...(hasSomething ? [] : ['There is no column to take changes from, and no --template-version']),
    ...headerProblems(header, variables),
  ]
  if (problems.length > 0) throw badHeader('The header of the file does not fit', problems, header)
  const externalId = header.indexOf(externalIdColumn)
  return { header, externalId, label, variables, errorColumn, warnings: namelessWarning(header) }
}
