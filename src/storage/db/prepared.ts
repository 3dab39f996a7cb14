import type { Knex } from 'knex'
import { rowsOf } from './dialect.ts'

/** A prepared statement: its text in the driver's syntax, and the names of its values in order. */
interface Statement {
  sql: string
  names: string[]
}

const statements = new Map<string, Statement>()

/**
 * Runs a statement whose text never changes. The text is built once per kind of database, and parsed and planned once
 * per connection. Use it only for statements that find rows by key, because the plan does not depend on the values.
 * @param values the values by name. The statement refers to each as `:name`
 * @param build returns the statement: its text, or a query that takes all of its values from `named`
 */
export function runPrepared<Row>(
  db: Knex,
  name: string,
  values: Record<string, Knex.Value>,
  build: () => string | Knex.QueryBuilder,
): Promise<Row[]> {
  return run<Row>(db, { name }, values, build)
}

/**
 * Like `runPrepared`, for a statement without a result. In a transaction, the call does not wait: the statement is sent
 * with the next statement or with the commit. If the statement fails, all later statements and the commit fail.
 */
export async function runSilently(
  db: Knex,
  name: string,
  values: Record<string, Knex.Value>,
  build: () => string | Knex.QueryBuilder,
): Promise<void> {
  await run(db, { name, isSilent: true }, values, build)
}

/** Like `runSilently`, for a knex query, which is built on each call. */
export async function sendSilently(db: Knex, query: Knex.QueryBuilder): Promise<void> {
  const { sql, bindings } = query.toSQL()
  const connection = await db.client.acquireConnection()
  try {
    await db.client.query(connection, { method: 'raw', sql, bindings, options: { isSilent: true } })
  } finally {
    db.client.releaseConnection(connection)
  }
}

async function run<Row>(
  db: Knex,
  options: { name: string; isSilent?: boolean },
  values: Record<string, Knex.Value>,
  build: () => string | Knex.QueryBuilder,
): Promise<Row[]> {
  const { name } = options
  const key = `${db.client.dialect} ${name}`
  let statement = statements.get(key)
  if (!statement) {
    statement = parseStatement(db, build())
    statements.set(key, statement)
  }
  const bindings = statement.names.map((value) => {
    if (values[value] === undefined) throw new Error(`The statement ${name} has no value for :${value}`)
    return values[value]
  })
  // Do what `knex.raw` does, but do not parse the text again.
  const { client } = db
  const connection = await client.acquireConnection()
  try {
    const query = { method: 'raw', sql: statement.sql, bindings, options }
    const { response } = await client.query(connection, query)
    return rowsOf(db, response)
  } finally {
    client.releaseConnection(connection)
  }
}

/** Returns the placeholder of a named value for a prepared query. */
export function named(db: Knex, name: string): Knex.Raw {
  return db.raw(`:${name}`)
}

function parseStatement(db: Knex, built: string | Knex.QueryBuilder): Statement {
  const { sql, bindings } = typeof built === 'string' ? { sql: built, bindings: [] } : built.toSQL()
  if (bindings.length > 0) throw new Error(`A prepared query cannot contain unnamed values. Use named(): ${sql}`)
  const names: string[] = []
  const text = sql.replaceAll(/([:\w]?):(\w+)/g, (whole, before: string, name: string) => {
    if (before !== '') return whole // Do not treat `::type` as a named value.
    names.push(name)
    return '?'
  })
  return { sql: db.raw(text, names).toSQL().toNative().sql, names }
}
