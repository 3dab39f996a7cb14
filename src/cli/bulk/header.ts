import { CliError } from '../command/errors.ts'

export interface HeaderColumn {
  name: string
  index: number
}

/** A header as its cells are meant. */
export interface MatchedHeader {
  /** Each cell by the name of its column where there is one. */
  names: string[]
  /** What was taken for something else than it says. */
  notes: string[]
  problems: string[]
}

/** Finds the columns in a header, whatever the case, and with spaces, underscores or hyphens where people put them. */
export function matchHeader(header: readonly string[], columns: readonly string[]): MatchedHeader {
  const matched: MatchedHeader = { names: [...header], notes: [], problems: [] }
  const cells = new Map(header.filter((cell) => columns.includes(cell)).map((cell) => [cell, cell]))
  for (const [index, cell] of header.entries()) {
    if (columns.includes(cell)) continue
    const [column, ...others] = columns.filter((name) => looseName(name) === looseName(cell))
    if (column === undefined || others.length > 0) continue
    const taken = cells.get(column)
    if (taken === undefined) {
      cells.set(column, cell)
      matched.names[index] = column
      matched.notes.push(`The column "${cell}" is taken for ${column}`)
    } else matched.problems.push(`The columns "${taken}" and "${cell}" may both be ${column}: rename one`)
  }
  return matched
}

function looseName(name: string): string {
  return name.toLowerCase().replaceAll(/[\s_-]/g, '')
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
