/**
 * Serves a pass with the minimum of work: a bare h3 route that runs one prepared statement of the driver, behind the
 * listener of the server. The argument is the address of a database. Prints the address of this server as JSON.
 */
import { H3 } from 'h3'
import { toNodeHandler } from 'h3/node'
import { listen } from 'listhen'
import pg from 'pg'
import sqlite3 from 'sqlite3'
import { sqliteFile } from '../../src/storage/db/database.ts'

type Find = (id: string) => Promise<unknown>

const databaseUrl = process.argv[2]!
const file = sqliteFile(databaseUrl)
const find = file ? findInFile(file) : findOnServer(databaseUrl)
const app = new H3().get('/v1/passes/:id', (event) => find(event.context.params!.id!))
const { url } = await listen(toNodeHandler(app) as Parameters<typeof listen>[0], {
  hostname: '127.0.0.1',
  port: { random: true },
  isProd: true,
  isTest: false,
  showURL: false,
  qr: false,
  publicURL: '',
})
console.log(JSON.stringify({ url: url.replace(/\/$/, '') }))

function findInFile(name: string): Find {
  const database = new sqlite3.Database(name, sqlite3.OPEN_READONLY)
  const statement = database.prepare('select * from passes where id = ?')
  return (id) =>
    new Promise((resolve, reject) => {
      statement.get([id], (error, row) => (error ? reject(error) : resolve(row)))
    })
}

function findOnServer(connectionString: string): Find {
  const pool = new pg.Pool({ connectionString, max: 10 })
  return async (id) => {
    const { rows } = await pool.query({ name: 'find', text: 'select * from passes where id = $1', values: [id] })
    return rows[0]
  }
}
