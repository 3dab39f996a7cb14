import type { PageFormat } from '../arguments/list.ts'
import { UsageError } from '../command/errors.ts'
import { localTime, tableWriter } from '../command/output.ts'

/** One thing that a list says of each of its rows. */
export interface ListColumn<T> {
  /** As --columns and --sort call it, and the header of CSV. */
  name: string
  /** Times as dates, or as ISO 8601. */
  value: (item: T) => string | number | boolean | Date | null
  /** The title in a table; the name in words where left out. */
  title?: string
  /** Never cut in a table. */
  whole?: true
  /**
   * `time` is shown to people in their own zone. `id` is shortened on a terminal: only for rows that commands find by the
   * beginning of their id.
   */
  kind?: 'time' | 'id'
  /** What a table shows for null; nothing where left out. */
  none?: string
}

/** What a list can show, and what it does where nothing else is asked for. */
export interface ListShape<T> {
  columns: readonly ListColumn<T>[]
  /** Names of the columns of a table; all where left out. */
  table?: readonly string[]
  /** On terminals of 110 columns and more, and where there is none. */
  wide?: readonly string[]
  /** Names of the columns of CSV; all where left out. */
  csv?: readonly string[]
}

const WIDE_COLUMNS = 110

/** Columns by their names. @throws UsageError for a name that none has */
export function chooseColumns<T>({ columns }: ListShape<T>, names: readonly string[]): ListColumn<T>[] {
  return names.map((name) => {
    const column = columns.find((known) => known.name === name)
    if (column) return column
    throw new UsageError(`There is no column ${name}`, {
      hint: `there are ${columns.map((known) => known.name).join(', ')}.`,
    })
  })
}

/** A table for people, page by page under one header. */
export function tableFormat<T>(
  shape: ListShape<T>,
  { names, width }: { names?: readonly string[] | undefined; width: number | undefined },
): PageFormat<T> {
  const { table = shape.columns.map(({ name }) => name), wide = table } = shape
  const columns = chooseColumns(shape, names ?? (width !== undefined && width < WIDE_COLUMNS ? table : wide))
  let idLength = Number.POSITIVE_INFINITY
  const write = tableWriter<T>(
    columns.map((column) => ({
      title: column.title ?? inWords(column.name),
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

/** Orders rows by the column that `label` or `createdAt:desc` names; what has no value comes last. */
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

/** What a column says of a row; of a time, its text. */
export function read<T>({ value }: ListColumn<T>, item: T): string | number | boolean | null {
  const said = value(item)
  return said instanceof Date ? said.toISOString() : said
}

function textOf<T>({ kind, none = '' }: ListColumn<T>, value: ReturnType<typeof read>, idLength: number) {
  if (value === null) return none
  if (kind === 'time') return localTime(String(value))
  if (kind === 'id') return String(value).slice(0, idLength)
  return typeof value === 'boolean' ? (value ? 'yes' : 'no') : value
}

/** Of ids that begin with their time in milliseconds: that, with a counter after it where several share the moment. */
const LENGTHS = [13, 23]

/** How much of each id tells it from the others of the page. */
function lengthOfIds(ids: readonly unknown[]): number {
  const isEnough = (length: number) => new Set(ids.map((id) => String(id).slice(0, length))).size === new Set(ids).size
  return LENGTHS.find(isEnough) ?? Number.POSITIVE_INFINITY
}

/** A name of the interface as people write it: `maxUses` is `max uses`. */
export function inWords(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
