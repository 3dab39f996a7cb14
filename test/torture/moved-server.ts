/**
 * Runs the built server with two faults that are impossible from outside: a wrong clock, and a full SQLite file. Receives
 * commands over IPC, and prints its address as JSON.
 */
import { createRequire } from 'node:module'
import { testConfig } from '../support/config.ts'

/** A command of the parent process. */
export type Order = { offsetMs: number } | { isFull: boolean }

interface Connection {
  exec(sql: string, done: (error: Error | null) => void): Connection
  get(sql: string, done: (error: Error | null, row: { page_count: number }) => void): Connection
}

const { Database } = createRequire(import.meta.url)('sqlite3') as { Database: { prototype: Connection } }
/** Connections that write. The size limit applies to each connection separately. */
const writers = new Set<Connection>()
const { exec } = Database.prototype
Database.prototype.exec = function (sql, done) {
  if (!sql.includes('synchronous')) return exec.call(this, sql, done)
  writers.add(this)
  return exec.call(this, sql, (error) => {
    if (error || !isFull) done(error)
    else limit(this).then(() => done(null), done)
  })
}

let offsetMs = 0
let isFull = false
process.on('message', async (order: Order) => {
  if ('offsetMs' in order) offsetMs = order.offsetMs
  else {
    isFull = order.isFull
    await Promise.all([...writers].map((writer) => limit(writer)))
  }
  process.send!('done')
})
process.on('disconnect', () => process.exit())

const dist = (path: string) => new URL(`../../dist/server/${path}`, import.meta.url).href
const { startServer } = (await import(dist('boot/serve.js'))) as typeof import('../../src/server/boot/serve.ts')
const { createLogger } = (await import(dist('log.js'))) as typeof import('../../src/server/log.ts')
const [databaseUrl, serverKey, sandboxFolder, port] = process.argv.slice(2) as [string, string, string, string]
const server = await startServer({
  log: createLogger('warn'),
  clock: () => new Date(Date.now() + offsetMs),
  config: testConfig({
    port: Number(port),
    databaseUrl,
    // Issue only for Apple: Google's tokens contain the time of the machine, and an emulator with another clock rejects
    // them.
    platforms: ['apple'],
    serverKey,
    allowInsecureWebhooks: true,
    sandboxFolder,
  }),
})
process.send!({ url: server.url, token: server.firstToken })

/**
 * Limits or releases the size of the file. At the limit, SQLite rejects every statement that needs another page with
 * SQLITE_FULL.
 */
function limit(writer: Connection): Promise<void> {
  return new Promise((resolve, reject) => {
    // Forget the connection if it fails, because the pool might have closed it already.
    const forget = () => resolve(void writers.delete(writer))
    writer.get('pragma page_count', (error, row) => {
      if (error) return forget()
      const pages = isFull ? row.page_count : 1_073_741_823
      return exec.call(writer, `pragma max_page_count = ${pages}`, (failure) => {
        if (!failure) resolve()
        else if ((failure as NodeJS.ErrnoException).code === 'SQLITE_MISUSE') forget()
        else reject(failure)
      })
    })
  })
}
