import { hash } from 'node:crypto'
import { looseName } from '../../core/rules/pass/column-names.ts'
import { CliError } from '../command/errors.ts'
import type { CsvRow } from './csv.ts'
import type { CheckedRow } from './row-action.ts'

/** What a row asks for, or everything that is wrong with it. */
export type RowCheck<Item> = (cells: readonly string[]) => CheckedItem<Item> | Promise<CheckedItem<Item>>

type CheckedItem<Item> = { item: Item } | { errors: string[] }

/**
 * Checks row by row. Of rows with one external id only the first may have its content: several are in flight at once,
 * and nobody could say which came last. `idColumn` is the name of the column of the external id.
 * @param namesOf what no two external ids of a file may share, by the column that it stands in
 */
export async function* checkRows<Item extends { externalPassId: string }>(
  rows: AsyncIterable<CsvRow>,
  idColumn: string,
  check: RowCheck<Item>,
  namesOf: (item: Item) => Record<string, string | undefined> = () => ({}),
): AsyncGenerator<CheckedRow<Item>> {
  const ids = new DuplicateIds()
  const names = new Map<string, DuplicateIds>()
  const findTaken = (item: Item, line: number): string | undefined => {
    for (const [column, name] of Object.entries(namesOf(item))) {
      if (name === undefined) continue
      const known = names.get(column) ?? new DuplicateIds()
      names.set(column, known)
      const earlier = known.add(name, item.externalPassId, line)
      if (earlier && !earlier.isSame) return `${column}: Stands in line ${earlier.line} already, for another pass`
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
    const earlier = ids.add(checked.item.externalPassId, content, row.line)
    const error =
      earlier && !earlier.isSame
        ? `${idColumn}: Stands in line ${earlier.line} already, with other content`
        : findTaken(checked.item, row.line)
    yield error !== undefined
      ? { ...row, error }
      : { ...row, item: checked.item, size: Buffer.byteLength(content), isRepeat: earlier !== undefined }
  }
}

/** A column by its name and its place, from 0. */
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

/** What is wrong with a header that lacks a column; empty where it has it. */
export function missingColumn(header: readonly string[], column: string, what: string, flag: string): string[] {
  return header.includes(column) ? [] : [`There is no column ${column} for ${what}; ${flag} names another one`]
}

/** The column that groups passes where nobody names another. */
export const GROUP_COLUMN = 'groupKey'

/** The warning about columns that are no variables of the template; empty where all are. */
export function unknownWarning(unknown: readonly string[]): string[] {
  return unknown.length > 0
    ? [`No variable of the template: ${unknown.join(', ')} (stored with each pass, shown nowhere)`]
    : []
}

/** The warning about a header in which a column has no name; empty where all have one. */
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

const START_SLOTS = 1 << 12
/** Of each slot: two halves of the id's hash, the hash of the content, and the line (0 in a free slot). */
const WORDS = 4

/**
 * Ids seen so far, as 64 bits of their hash in one typed array: a million take 32 MB. Two ids that share
 * those bits (one chance in 37 million in a file of a million rows) would be taken for one.
 */
class DuplicateIds {
  #slots = new Uint32Array(START_SLOTS * WORDS)
  #size = 0

  /** The first row of the same id, where there was one before: its line, and whether it had the same content. */
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

  /** Where the id stands, or the free slot where it would. */
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
