import type { Knex } from 'knex'
import { isPostgres } from './dialect.ts'

/** JSON, lists, and bytes in SQL, which the databases write differently. */

/** Encodes bytes as hexadecimal text; null for null. */
export function hexOfBytes(db: Knex, column: string): string {
  return isPostgres(db) ? `encode(${column}, 'hex')` : `iif(${column} is null, null, lower(hex(${column})))`
}

/** Decodes hexadecimal text into bytes. */
export function bytesOfHex(db: Knex, column: string): string {
  return isPostgres(db) ? `decode(${column}, 'hex')` : `unhex(${column})`
}

/** Returns a column that holds JSON, as an operand of `->` and `->>` and of `json_array_length`. */
export function asJson(db: Knex, column: string): string {
  return isPostgres(db) ? `cast(${column} as json)` : column
}

/** Returns the elements of JSON as a table `given` with the column `value`. */
export function elementsOfJson(db: Knex, json: string): string {
  return isPostgres(db) ? `json_array_elements(${json}::json) as given(value)` : `json_each(${json}) as given`
}

export function idsOfJson(db: Knex, json: string): string {
  return isPostgres(db)
    ? `select json_array_elements_text(${json}::json)::uuid`
    : `select value from json_each(${json})`
}

/** Returns a key of the object in a column as JSON text; null if it has no such key. */
export function keyOfJson(db: Knex, column: string, key: string): string {
  return `cast(${asJson(db, column)} -> '${key}' as text)`
}

/** Returns all rows of a select as the text of one JSON array of arrays. */
export function rowsAsJson(db: Knex, values: string): string {
  return isPostgres(db) ? `json_agg(json_build_array(${values}))::text` : `json_group_array(json_array(${values}))`
}

export function quoteJson(db: Knex, text: string): string {
  return isPostgres(db) ? `to_json(${text})::text` : `json_quote(${text})`
}

/** Returns one column of a query as a JSON array, in order, as a value of another row. `parseList` reads it. */
export function listOf(db: Knex, column: string, query: string): string {
  return isPostgres(db)
    ? `array_to_json(array(${query}))`
    : `(select json_group_array(${column}) from (${query}) as listed)`
}

/** Parses a list of either database. */
export function parseList(value: string | string[]): string[] {
  return typeof value === 'string' ? JSON.parse(value) : value
}

export function randomBytes(db: Knex, count: 16): string {
  return isPostgres(db) ? 'uuid_send(gen_random_uuid())' : `randomblob(${count})`
}

export function asId(db: Knex, text: string): string {
  return isPostgres(db) ? `cast(${text} as uuid)` : text
}

/** Returns null with the type of bytes. */
export function noBytes(db: Knex): string {
  return isPostgres(db) ? 'cast(null as bytea)' : 'null'
}

/**
 * Returns a column as a value for JSON, bytes in hexadecimal. SQLite stores values of any type in any column. One of an
 * unexpected type was put there by tampering, so it must not look like a valid value.
 */
export function strictValue(db: Knex, column: string, isBytes: boolean): string {
  if (isPostgres(db)) return isBytes ? hexOfBytes(db, column) : column
  const hex = `lower(hex(${column}))`
  return isBytes
    ? `case typeof(${column}) when 'null' then null when 'blob' then ${hex} else 'no bytes' end`
    : `case typeof(${column}) when 'blob' then 'bytes ' || ${hex} else ${column} end`
}
