import type { VariableDefinition } from '../../core/contract/definition.ts'
import { CliError } from '../errors.ts'

export interface ColumnOptions {
  externalIdColumn: string
  labelColumn: string
}

/** Which cell of a row is what. */
export interface Columns {
  header: string[]
  externalId: number
  label: number
  variables: { name: string; index: number }[]
  /** The column that a failures file adds, and that is ignored where the input has it. */
  errorColumn: string
  /** What will work, but may not be meant. */
  warnings: string[]
}

/**
 * Holds the header against the variables of the template.
 * @throws CliError that lists everything that keeps the file from being issued.
 */
export function planColumns(
  header: string[],
  declared: readonly VariableDefinition[],
  { externalIdColumn, labelColumn }: ColumnOptions,
): Columns {
  const names = new Set(declared.map((variable) => variable.name))
  const errorColumn = names.has('error') ? 'issue_error' : 'error'
  const own = new Set([externalIdColumn, labelColumn, errorColumn, ''])
  const variables = header.map((name, index) => ({ name, index })).filter(({ name }) => !own.has(name))
  const problems = [
    ...missing(header, externalIdColumn, 'the external id', '--external-id-column'),
    ...missing(header, labelColumn, 'the label', '--label-column'),
    ...declared
      .filter((variable) => variable.required && !variables.some(({ name }) => name === variable.name))
      .map(({ name, label }) => `There is no column ${name} (${label}), which the template requires`),
    ...variables
      .filter(({ name }) => name.includes('.'))
      .map(({ name }) => `The column ${name} has a dot in its name; such names belong to the system`),
    ...[...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))].map(
      (name) => `The column ${name} stands twice`,
    ),
  ]
  if (problems.length > 0) {
    throw new CliError('The header of the file does not fit the template', {
      code: 'VALIDATION_ERROR',
      details: { issues: problems.map((message) => ({ path: [], message })), header },
      hint: 'passes template schema TEMPLATE_ID shows every variable.',
    })
  }
  const unknown = variables.filter(({ name }) => !names.has(name)).map(({ name }) => name)
  return {
    header,
    externalId: header.indexOf(externalIdColumn),
    label: header.indexOf(labelColumn),
    variables,
    errorColumn,
    warnings: [
      ...(unknown.length > 0
        ? [`No variable of the template: ${unknown.join(', ')} (stored with each pass, shown nowhere)`]
        : []),
      ...(header.includes('') ? ['A column without a name is ignored'] : []),
    ],
  }
}

function missing(header: string[], column: string, what: string, flag: string): string[] {
  return header.includes(column) ? [] : [`There is no column ${column} for ${what}; ${flag} names another one`]
}
