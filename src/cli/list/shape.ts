import type { PageFormat } from '../arguments/list-flags.ts'
import { UsageError } from '../command/cli-error.ts'
import { inWords, localTime, tableWriter } from '../command/output.ts'

type Cell = string | number | boolean | Date | null

export interface ListColumn<T> {
  /** The name for `--columns` and `--sort`, and in the CSV header. */
  name: string
  /** Returns the cell: by default, the property named like the column. Times are `Date` objects or ISO 8601 strings. */
  value: (item: T) => Cell
  /** The title in a table; by default the name in words, without the final "at" of a time. */
  title?: string
  /** Whether the column is never truncated. */
  whole?: true
  /**
   * `time` is shown in the local time zone. `id` is shortened on a terminal: use it only for rows that commands find
   * by id prefix.
   */
  kind?: 'time' | 'id'
  /** The text for `null` in a table; empty by default. */
  none?: string
  /** Whether the column is a default column of CSV; true by default. */
  inCsv?: false
}

type NameOf<T> = { [N in keyof T & string]: T[N] extends Cell ? N : never }[keyof T & string]
type OwnColumn<T> = Omit<ListColumn<T>, 'value'> & { name: NameOf<T>; value?: never }

export interface ListShape<T> {
  /** A list of property names adds a column for each property. A property whose name ends with `At` is a time. */
  columns: readonly (ListColumn<T> | OwnColumn<T> | readonly NameOf<T>[])[]
  /** The default columns of a table; all by default. */
  table?: readonly string[]
  /** The default columns on terminals of 110 columns or more, and without a terminal. */
  wide?: readonly string[]
}

const WIDE_COLUMNS = 110

export function columnsOf<T>({ columns }: ListShape<T>): ListColumn<T>[] {
  return columns
    .flatMap<ListColumn<T> | OwnColumn<T>>((column) => ('name' in column ? column : column.map(plain)))
    .map((column) => ({ value: (item: T) => item[column.name as NameOf<T>] as Cell, ...column }) as ListColumn<T>)
}

function plain<N extends string>(name: N): { name: N; kind?: 'time' } {
  return name.endsWith('At') ? { name, kind: 'time' } : { name }
}

/** @throws UsageError for an unknown name */
export function chooseColumns<T>(shape: ListShape<T>, names: readonly string[]): ListColumn<T>[] {
  const columns = columnsOf(shape)
  return names.map((name) => {
    const column = columns.find((known) => known.name === name)
    if (column) return column
    throw new UsageError(`Column ${name} not found`, {
      hint: `the columns are ${columns.map((known) => known.name).join(', ')}.`,
    })
  })
}

export function tableFormat<T>(
  shape: ListShape<T>,
  { names, width }: { names?: readonly string[] | undefined; width: number | undefined },
): PageFormat<T> {
  const { table = columnsOf(shape).map(({ name }) => name), wide = table } = shape
  const columns = chooseColumns(shape, names ?? (width !== undefined && width < WIDE_COLUMNS ? table : wide))
  let idLength = Number.POSITIVE_INFINITY
  const write = tableWriter<T>(
    columns.map((column) => ({
      title: column.title ?? inWords(column.kind === 'time' ? column.name.replace(/At$/, '') : column.name),
      ...((column.whole || column.kind !== undefined) && { whole: true as const }),
      value: (item) => textOf(column, read(column, item), idLength),
    })),
    { width },
  )
  return (items) => {
    const ids = columns.filter(({ kind }) => kind === 'id').map((column) => items.map((item) => column.value(item)))
    idLength = width === undefined ? Number.POSITIVE_INFINITY : Math.max(...ids.map(lengthOfIds))
    return `${write(items)}\n`
  }
}

/** Returns a function that sorts rows by `label` or `createdAt:desc`. Rows without a value are last. */
export function sorter<T>(shape: ListShape<T>, text: string): (items: T[]) => T[] {
  const [name = '', direction = 'asc', ...rest] = text.split(':')
  if (rest.length > 0 || !['asc', 'desc'].includes(direction)) {
    throw new UsageError(`--sort ${text} must be a column, or a column with :asc or :desc after it`)
  }
  const [column] = chooseColumns(shape, [name])
  const sign = direction === 'desc' ? -1 : 1
  return (items) =>
    items
      .map((item) => ({ item, key: read(column!, item) }))
      .sort((a, b) => {
        if (a.key === null || b.key === null) return Number(a.key === null) - Number(b.key === null)
        return sign * compare(a.key, b.key)
      })
      .map(({ item }) => item)
}

let words: Intl.Collator | undefined

function compare(a: string | number | boolean, b: string | number | boolean): number {
  words ??= new Intl.Collator('en', { numeric: true })
  return typeof a === 'string' || typeof b === 'string' ? words.compare(String(a), String(b)) : Number(a) - Number(b)
}

/** Returns the value of a column for a row. Times become ISO 8601 text. */
export function read<T>({ value }: ListColumn<T>, item: T): string | number | boolean | null {
  const cell = value(item)
  return cell instanceof Date ? cell.toISOString() : cell
}

function textOf<T>({ kind, none = '' }: ListColumn<T>, value: ReturnType<typeof read>, idLength: number) {
  if (value === null) return none
  if (kind === 'time') return localTime(String(value))
  if (kind === 'id') return String(value).slice(0, idLength)
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : value
}

/** The lengths of a shortened id: only the time (in milliseconds), or also the counter within the millisecond. */
const LENGTHS = [13, 23]

/** Returns the shortest prefix length at which the ids of the page are unique. */
function lengthOfIds(ids: readonly unknown[]): number {
  const isEnough = (length: number) => new Set(ids.map((id) => String(id).slice(0, length))).size === new Set(ids).size
  return LENGTHS.find(isEnough) ?? Number.POSITIVE_INFINITY
}
