import type { Knex } from 'knex'

/**
 * A field of a record. The field converts between the value and its stored form. The name of its column is the name of
 * the field in snake case, unless `inColumn` sets another one.
 */
export interface Field<Value, Stored> {
  read(stored: Stored): Value
  write(value: Value): Stored
}

interface AnyField {
  read(stored: never): unknown
  write(value: never): unknown
}

type Fields = Record<string, AnyField>

/** Converts records to rows and back. The mapping is the only place that lists the stored fields. */
export interface Mapping<F extends Fields> {
  /**
   * The names of the columns. Prepared statements must select these names instead of `*`. Otherwise, PostgreSQL would
   * reject the statements after a column is added.
   */
  columns: string[]
  read(row: Row<F>): Values<F>
  /** Omits the columns of fields that are `undefined`. */
  write<Name extends keyof F>(record: Pick<Values<F>, Name>): Row<Pick<F, Name>>
  write(record: Partial<Values<F>>): Partial<Row<F>>
  /** Returns the columns of a table for `select`. `others` replaces some of them with other columns or expressions. */
  from(table: string, others?: { [Name in keyof Row<F>]?: string | Knex.Raw }): Record<string, string | Knex.Raw>
}

type Values<F extends Fields> = { [Name in keyof F]: ReturnType<F[Name]['read']> }
type Row<F extends Fields> = { [Name in keyof F as ColumnOf<F[Name], Name & string>]: ReturnType<F[Name]['write']> }
type ColumnOf<F, Name extends string> = F extends { column: infer Column extends string } ? Column : SnakeCase<Name>
type SnakeCase<Text extends string> = Text extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Text

export type RecordOf<M> = M extends Mapping<infer F> ? Values<F> : never

export type RowOf<M> = M extends Mapping<infer F> ? Row<F> : never

function plain<Value>(): Field<Value, Value> {
  return { read: (stored) => stored, write: (value) => value }
}

function json<Value>(): Field<Value, string> {
  return { read: (stored) => JSON.parse(stored), write: (value) => JSON.stringify(value) }
}

function nullable<Value, Stored>({ read, write }: Field<Value, Stored>): Field<Value | null, Stored | null> {
  return {
    read: (stored) => (stored === null ? null : read(stored)),
    write: (value) => (value === null ? null : write(value)),
  }
}

function inColumn<Column extends string, Value, Stored>(column: Column, field: Field<Value, Stored>) {
  return { ...field, column }
}

/** A boolean, which SQLite returns as a number. */
const flag: Field<boolean, boolean | number> = { read: Boolean, write: (value) => value }

/** A time, stored in milliseconds since 1970. */
const time: Field<Date, number> = { read: (stored) => new Date(stored), write: (value) => value.getTime() }

/** The kinds of fields. */
export const field = {
  text: plain<string>(),
  optionalText: plain<string | null>(),
  number: plain<number>(),
  optionalNumber: plain<number | null>(),
  flag,
  time,
  optionalTime: nullable(time),
  plain,
  json,
  nullable,
  inColumn,
}

/** Runs a query and reads its first row. Returns `undefined` if there is none. */
export async function findRecord<Row, Value>(
  query: Knex.QueryBuilder,
  read: (row: Row) => Value,
): Promise<Value | undefined> {
  const row: Row | undefined = await query.first()
  return row === undefined ? undefined : read(row)
}

export async function listRecords<Row, Value>(query: Knex.QueryBuilder, read: (row: Row) => Value): Promise<Value[]> {
  const rows: Row[] = await query
  return rows.map((row) => read(row))
}

export function mapping<F extends Fields>(fields: F): Mapping<F> {
  const all = Object.entries(fields as unknown as Record<string, Field<unknown, unknown>>).map(([name, kind]) => ({
    name,
    column: name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    ...kind,
  }))
  const columns = all.map(({ column }) => column)
  return {
    columns,
    read(row: Record<string, unknown>) {
      const record: Record<string, unknown> = {}
      for (const { name, column, read } of all) record[name] = read(row[column])
      return record as Values<F>
    },
    write(record: Record<string, unknown>) {
      const row: Record<string, unknown> = {}
      for (const { name, column, write } of all) if (record[name] !== undefined) row[column] = write(record[name])
      return row as never
    },
    from: (table, others) => Object.assign(Object.fromEntries(columns.map((one) => [one, `${table}.${one}`])), others),
  }
}
