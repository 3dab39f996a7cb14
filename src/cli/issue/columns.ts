import type { VariableDefinition } from '../../core/contract/definition.ts'
import {
  badHeader,
  type HeaderColumn,
  headerProblems,
  matchHeader,
  missingColumn,
  namelessWarning,
  variableColumns,
} from '../bulk/header.ts'
import type { Columns } from '../bulk/row-action.ts'

export interface ColumnOptions {
  externalIdColumn: string
  labelColumn: string
}

export interface IssueColumns extends Columns {
  label: number
  variables: HeaderColumn[]
}

/**
 * Holds the header against the variables of the template.
 * @throws CliError that lists everything that keeps the file from being issued.
 */
export function planColumns(
  header: string[],
  declared: readonly VariableDefinition[],
  { externalIdColumn, labelColumn }: ColumnOptions,
): IssueColumns {
  const known = new Set(declared.map((variable) => variable.name))
  const errorColumn = known.has('error') ? 'issue_error' : 'error'
  const { names, notes, ...matched } = matchHeader(header, [externalIdColumn, labelColumn, ...known])
  const variables = variableColumns(names, [externalIdColumn, labelColumn, errorColumn])
  const problems = [
    ...matched.problems,
    ...missingColumn(names, externalIdColumn, 'the external id', '--external-id-column'),
    ...missingColumn(names, labelColumn, 'the label', '--label-column'),
    ...declared
      .filter((variable) => variable.required && !variables.some(({ name }) => name === variable.name))
      .map(({ name, label }) => `There is no column ${name} (${label}), which the template requires`),
    ...headerProblems(header, variables),
  ]
  const unknown = [...new Set(variables.map(({ name }) => name))].filter((name) => !known.has(name))
  if (problems.length > 0) {
    if (unknown.length > 0) problems.push(`Columns that the template does not know: ${unknown.join(', ')}`)
    const hint = 'passes template schema TEMPLATE_ID shows every variable.'
    throw badHeader('The header of the file does not fit the template', problems, header, hint)
  }
  return {
    header,
    externalId: names.indexOf(externalIdColumn),
    label: names.indexOf(labelColumn),
    variables,
    errorColumn,
    notes,
    warnings: [
      ...(unknown.length > 0
        ? [`No variable of the template: ${unknown.join(', ')} (stored with each pass, shown nowhere)`]
        : []),
      ...namelessWarning(header),
    ],
  }
}
