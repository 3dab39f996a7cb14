import { CliError } from '../command/errors.ts'

export interface HeaderColumn {
  name: string
  index: number
}

/** The columns of a header that are variables: those with a name that is none of ours. */
export function variableColumns(header: readonly string[], own: readonly string[]): HeaderColumn[] {
  return header.map((name, index) => ({ name, index })).filter(({ name }) => name !== '' && !own.includes(name))
}

/** What is wrong with a header whatever is done with the rows. */
export function headerProblems(header: readonly string[], variables: readonly HeaderColumn[]): string[] {
  return [
    ...variables
      .filter(({ name }) => name.includes('.'))
      .map(({ name }) => `The column ${name} has a dot in its name; such names belong to the system`),
    ...[...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))].map(
      (name) => `The column ${name} stands twice`,
    ),
  ]
}

export function missingColumn(header: readonly string[], column: string, what: string, flag: string): string[] {
  return header.includes(column) ? [] : [`There is no column ${column} for ${what}; ${flag} names another one`]
}

export function namelessWarning(header: readonly string[]): string[] {
  return header.includes('') ? ['A column without a name is ignored'] : []
}

/** Everything that keeps the file from being used, in one error. */
export function badHeader(message: string, problems: string[], header: readonly string[], hint?: string): CliError {
  return new CliError(message, {
    code: 'VALIDATION_ERROR',
    details: { issues: problems.map((problem) => ({ path: [], message: problem })), header },
    ...(hint && { hint }),
  })
}
