import type { Knex } from 'knex'
import { rowsOf } from './dialect.ts'

/** A statement that is kept: its text as the driver takes it, and the names of its values in their order. */
interface Statement {
  sql: string
  names: string[]
}

/** Statements that are always the same, by dialect and name. */
const statements = new Map<string, Statement>()

/**
 * Runs a statement whose text is always the same: built once for each database, parsed and planned once for each
 * connection. Only for what finds rows by their keys: the plan does not look at values.
 * @param values by their names, which stand in the statement as `:name`
 * @param build makes the statement: its text, or a query whose values are all given by `named`
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
 * The same for a statement that answers nothing. In a transaction nobody waits for it: it goes to the database with the next
 * statement, or with the commit, which then tells of its failure.
 */
export async function runSilently(
  db: Knex,
  name: string,
  values: Record<string, Knex.Value>,
  build: () => string | Knex.QueryBuilder,
): Promise<void> {
  await run(db, { name, isSilent: true }, values, build)
}

/** As runSilently, for a statement of knex's, which is built each time. */
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
  // As knex runs a raw statement, without parsing its text anew each time.
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

/** A value of a statement that is kept, for the places where a query takes one. */
export function named(db: Knex, name: string): Knex.Raw {
  return db.raw(`:${name}`)
}

function parseStatement(db: Knex, built: string | Knex.QueryBuilder): Statement {
  const { sql, bindings } = typeof built === 'string' ? { sql: built, bindings: [] } : built.toSQL()
  if (bindings.length > 0) throw new Error(`A value has no name in ${sql}`)
  const names: string[] = []
  const text = sql.replaceAll(/([:\w]?):(\w+)/g, (whole, before: string, name: string) => {
    if (before !== '') return whole // After two colons stands a type.
    names.push(name)
    return '?'
  })
  return { sql: db.raw(text, names).toSQL().toNative().sql, names }
}
