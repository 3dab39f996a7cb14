import type { Knex } from 'knex'
import { isPostgres } from './dialect.ts'

/** SQL expressions for JSON, lists, and bytes, which differ between the databases. */

/** Returns an expression that encodes bytes as hexadecimal text; null for null. */
export function hexOfBytes(db: Knex, column: string): string {
  return isPostgres(db) ? `encode(${column}, 'hex')` : `iif(${column} is null, null, lower(hex(${column})))`
}

export function bytesOfHex(db: Knex, column: string): string {
  return isPostgres(db) ? `decode(${column}, 'hex')` : `unhex(${column})`
}

/**
 * Returns an expression for a text column that contains JSON. The operators `->` and `->>`, and `json_array_length`,
 * accept the expression.
 */
export function asJson(db: Knex, column: string): string {
  return isPostgres(db) ? `cast(${column} as json)` : column
}

/** Returns the SQL for a table `given`, whose column `value` has the elements of a JSON array. */
export function elementsOfJson(db: Knex, json: string): string {
  return isPostgres(db) ? `json_array_elements(${json}::json) as given(value)` : `json_each(${json}) as given`
}

export function idsOfJson(db: Knex, json: string): string {
  return isPostgres(db)
    ? `select json_array_elements_text(${json}::json)::uuid`
    : `select value from json_each(${json})`
}

/** Returns the value of a key of a JSON object in a column, as JSON text; null if the object lacks the key. */
export function keyOfJson(db: Knex, column: string, key: string): string {
  return `cast(${asJson(db, column)} -> '${key}' as text)`
}

/** Returns an expression that combines all rows of a select into one JSON array of arrays, as text. */
export function rowsAsJson(db: Knex, values: string): string {
  return isPostgres(db) ? `json_agg(json_build_array(${values}))::text` : `json_group_array(json_array(${values}))`
}

export function quoteJson(db: Knex, text: string): string {
  return isPostgres(db) ? `to_json(${text})::text` : `json_quote(${text})`
}

/** Returns an expression for the values of one column of a subquery, as a JSON array in the order of the subquery. */
export function listOf(db: Knex, column: string, query: string): string {
  return isPostgres(db)
    ? `array_to_json(array(${query}))::text`
    : `(select json_group_array(${column}) from (${query}) as listed)`
}

export function randomBytes(db: Knex, count: 16): string {
  return isPostgres(db) ? 'uuid_send(gen_random_uuid())' : `randomblob(${count})`
}

export function asId(db: Knex, text: string): string {
  return isPostgres(db) ? `cast(${text} as uuid)` : text
}

/** Returns SQL for null, typed as bytes for PostgreSQL. */
export function noBytes(db: Knex): string {
  return isPostgres(db) ? 'cast(null as bytea)' : 'null'
}

/**
 * Returns an expression for the value that a column has in JSON, with bytes in hexadecimal. A SQLite column can contain
 * values of any type. A value of another type results from tampering, so its JSON must differ from the JSON of every
 * valid value.
 */
export function strictValue(db: Knex, column: string, isBytes: boolean): string {
  if (isPostgres(db)) return isBytes ? hexOfBytes(db, column) : column
  const hex = `lower(hex(${column}))`
  return isBytes
    ? `case typeof(${column}) when 'null' then null when 'blob' then ${hex} else 'no bytes' end`
    : `case typeof(${column}) when 'blob' then 'bytes ' || ${hex} else ${column} end`
}
