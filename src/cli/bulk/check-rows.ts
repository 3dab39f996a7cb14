import { hash } from 'node:crypto'
import { looseName } from '../../core/rules/lists/search.ts'
import { CliError } from '../command/cli-error.ts'
import type { CsvRow } from './csv.ts'
import type { CheckedRow, Columns } from './row-action.ts'

export type RowCheck<Item> = (cells: readonly string[]) => CheckedItem<Item> | Promise<CheckedItem<Item>>

type CheckedItem<Item> = { item: Item } | { errors: string[] }

/**
 * Checks row by row. Rejects a row if an earlier row has the same key and other content: concurrent rows have no order,
 * so either row could win.
 * @param idColumn the name of the column of the key, for error messages
 * @param namesOf the values, by column, that rows with different external ids must not share
 * @param keyOf the key of a row. Default: the external id
 */
export async function* checkRows<Item extends { externalPassId: string }>(
  rows: AsyncIterable<CsvRow>,
  idColumn: string,
  check: RowCheck<Item>,
  namesOf: (item: Item) => Record<string, string | undefined> = () => ({}),
  keyOf: (item: Item) => string = ({ externalPassId }) => externalPassId,
): AsyncGenerator<CheckedRow<Item>> {
  const ids = new DuplicateIds()
  const names = new Map<string, DuplicateIds>()
  const findTaken = (item: Item, line: number): string | undefined => {
    for (const [column, name] of Object.entries(namesOf(item))) {
      if (name === undefined) continue
      const known = names.get(column) ?? new DuplicateIds()
      names.set(column, known)
      const earlier = known.add(name, item.externalPassId, line)
      if (earlier && !earlier.isSame) return `${column}: Is already in line ${earlier.line}, for another pass`
    }
    return undefined
  }
  for await (const row of rows) {
    if (row.problem) {
      yield { ...row, error: row.problem }
      continue
    }
    const checked = await check(row.cells)
    if ('errors' in checked) {
      yield { ...row, error: checked.errors.join('; ') }
      continue
    }
    const content = JSON.stringify(checked.item)
    const earlier = ids.add(keyOf(checked.item), content, row.line)
    const error =
      earlier && !earlier.isSame
        ? `${idColumn}: Is already in line ${earlier.line}, with other content`
        : findTaken(checked.item, row.line)
    yield error !== undefined
      ? { ...row, error }
      : { ...row, item: checked.item, size: Buffer.byteLength(content), isRepeat: earlier !== undefined }
  }
}

export interface HeaderColumn {
  name: string
  index: number
}

interface MatchedHeader {
  /** The header's cells, each replaced by the column name that it matches. */
  names: string[]
  notes: string[]
  problems: string[]
}

/** Matches a header to columns. Ignores case, spaces, underscores, and hyphens. */
function matchHeader(header: readonly string[], columns: readonly string[]): MatchedHeader {
  const matched: MatchedHeader = { names: [...header], notes: [], problems: [] }
  const cells = new Map(header.filter((cell) => columns.includes(cell)).map((cell) => [cell, cell]))
  for (const [index, cell] of header.entries()) {
    if (columns.includes(cell)) continue
    const [column, ...others] = columns.filter((name) => looseName(name) === looseName(cell))
    if (column === undefined || others.length > 0) continue
    const taken = cells.get(column)
    // Rename an ambiguous cell, too, so that it is not also reported as an unknown column.
    matched.names[index] = column
    if (taken === undefined) {
      cells.set(column, cell)
      matched.notes.push(`The column "${cell}" is used as ${column}`)
    } else matched.problems.push(`The columns "${taken}" and "${cell}" can both be ${column}: rename one`)
  }
  return matched
}

function variableColumns(header: readonly string[], own: readonly string[]): HeaderColumn[] {
  return header.map((name, index) => ({ name, index })).filter(({ name }) => name !== '' && !own.includes(name))
}

function headerProblems(header: readonly string[], variables: readonly HeaderColumn[]): string[] {
  return [
    ...variables
      .filter(({ name }) => name.includes('.'))
      .map(({ name }) => `The column ${name} has a dot in its name: rename it, because such names are reserved`),
    ...[...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))].map(
      (name) => `Duplicate column ${name}`,
    ),
  ]
}

export const GROUP_COLUMN = 'groupKey'

/** A column that a command reads itself, instead of as a variable. */
export interface OwnColumn {
  /** The column's name; `undefined` if the command has no such column. */
  name: string | undefined
  /** Set if the column is required: its purpose and the flag that selects another column, for the error message. */
  required?: readonly [what: string, flag: string] | undefined
}

interface HeaderOptions<P> {
  /** Whether columns that the command does not read are ignored. By default, they are variables. */
  ignoresOthers?: true
  /** The variables of the template; `undefined` if the command has no template. */
  declared?: readonly string[] | undefined
  errorColumn?: string
  problemsOf?: (columns: P) => string[]
  message?: string
  hint?: string
}

/**
 * The columns of a file: the index of each column that the command reads (-1 if it is missing), and the other columns
 * as variables.
 */
export type PlannedColumns<Role extends string> = Columns & Record<Role, number> & { variables: HeaderColumn[] }

/** @throws CliError that lists every problem of the header */
export function planHeader<Role extends string>(
  header: string[],
  own: Record<Role | 'externalId', OwnColumn>,
  options: HeaderOptions<PlannedColumns<Role | 'externalId'>> = {},
): PlannedColumns<Role | 'externalId'> {
  const {
    ignoresOthers,
    declared,
    errorColumn = 'error',
    problemsOf,
    message = 'The header of the file is not valid',
    hint,
  } = options
  const columns = Object.entries<OwnColumn>(own)
  const ownNames = columns.flatMap(([, { name }]) => name ?? [])
  const { names, notes, problems } = matchHeader(header, [...ownNames, ...(declared ?? [])])
  const variables = ignoresOthers ? [] : variableColumns(names, [...ownNames, errorColumn])
  const unknown = declared
    ? [...new Set(variables.map(({ name }) => name))].filter((name) => !declared.includes(name))
    : []
  const at = Object.fromEntries(
    columns.map(([role, { name }]) => [role, name === undefined ? -1 : names.indexOf(name)]),
  )
  const warnings = !ignoresOthers && header.includes('') ? ['A column without a name is ignored'] : []
  if (unknown.length > 0) {
    warnings.unshift(`Not variables of the template: ${unknown.join(', ')} (stored with each pass, but not shown)`)
  }
  const planned = { ...at, header, variables, errorColumn, notes, warnings } as PlannedColumns<Role | 'externalId'>
  for (const { name, required } of Object.values<OwnColumn>(own)) {
    if (!required || names.includes(name ?? '')) continue
    problems.push(`Column ${name} not found for ${required[0]}; ${required[1]} selects another one`)
  }
  problems.push(...(problemsOf?.(planned) ?? []), ...(ignoresOthers ? [] : headerProblems(header, variables)))
  if (problems.length === 0) return planned
  if (unknown.length > 0) problems.push(`Columns without a variable in the template: ${unknown.join(', ')}`)
  throw badHeader(message, problems, header, hint)
}

export function idColumn(name: string): OwnColumn {
  return { name, required: ['the external ID', '--external-id-column'] }
}

/**
 * Returns the column that a flag names, and requires it. Without the flag, returns the default column, which is
 * optional. An empty flag selects no column.
 */
export function namedColumn(
  named: string | undefined,
  usual: string | undefined,
  what: string,
  flag: string,
): OwnColumn {
  return named ? { name: named, required: [what, flag] } : { name: named ?? usual }
}

/**
 * Formats the issues of a row with the names of the columns in the file. `places` maps each property of the row to the
 * index of its column.
 */
export function rowErrors(
  issues: readonly { path: readonly PropertyKey[]; message: string }[] | undefined,
  { header }: Columns,
  places: Record<string, number>,
): string[] {
  return (issues ?? []).map(({ path: [part, ...rest], message }) => {
    const column = header[places[String(part)] ?? -1] ?? (part === 'variables' && rest.length > 0 ? [] : (part ?? []))
    return `${[column, ...rest].flat().map(String).join('.')}: ${message}`
  })
}

function badHeader(message: string, problems: string[], header: readonly string[], hint?: string): CliError {
  return new CliError(message, {
    code: 'VALIDATION_ERROR',
    details: { issues: problems.map((problem) => ({ path: [], message: problem })), header },
    ...(hint && { hint }),
  })
}

const START_SLOTS = 1 << 12
/** Words per slot: two halves of the id's hash, the hash of the content, and the line (0 in a free slot). */
const WORDS = 4

/**
 * The set of seen ids, as 64-bit hashes in a typed array: a million ids take 32 MB. Two ids with the same hash
 * (probability 1 in 37 million for a file of a million rows) would be treated as one.
 */
class DuplicateIds {
  #slots = new Uint32Array(START_SLOTS * WORDS)
  #size = 0

  /** Adds a row. If an earlier row has the id, returns the line of that row and whether its content is the same. */
  add(id: string, content: string, line: number): { line: number; isSame: boolean } | undefined {
    const idHash = hash('sha1', id)
    const high = wordAt(idHash, 0)
    const low = wordAt(idHash, 1)
    const contentHash = wordAt(hash('sha1', content), 0)
    const at = this.#find(high, low)
    const earlier = this.#slots[at + 3]!
    if (earlier !== 0) return { line: earlier, isSame: this.#slots[at + 2] === contentHash }
    this.#slots.set([high, low, contentHash, line], at)
    this.#size += 1
    if (this.#size * WORDS * 2 > this.#slots.length) this.#grow()
    return undefined
  }

  #find(high: number, low: number): number {
    const slots = this.#slots
    const mask = slots.length / WORDS - 1
    let slot = low & mask
    for (;;) {
      const at = slot * WORDS
      if (slots[at + 3] === 0 || (slots[at] === high && slots[at + 1] === low)) return at
      slot = (slot + 1) & mask
    }
  }

  #grow(): void {
    const old = this.#slots
    this.#slots = new Uint32Array(old.length * 2)
    for (let at = 0; at < old.length; at += WORDS) {
      if (old[at + 3] !== 0) this.#slots.set(old.subarray(at, at + WORDS), this.#find(old[at]!, old[at + 1]!))
    }
  }
}

function wordAt(hex: string, index: number): number {
  return Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16)
}
