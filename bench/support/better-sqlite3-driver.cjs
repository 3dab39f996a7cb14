const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads')

/**
 * The part of the API of the sqlite3 package that the program uses, on better-sqlite3. Each connection has a thread,
 * which keeps its statements prepared. For comparison only, because better-sqlite3 cannot interrupt statements.
 */
class Database {
  constructor(file, _mode, done) {
    this.waiting = []
    this.thread = new Worker(__filename, { workerData: file })
    this.thread.on('message', ({ error, rows }) => {
      const next = this.waiting.shift()
      if (error) next(Object.assign(new Error(error.message), error))
      else next.call({ changes: 0, lastID: 0 }, null, rows)
    })
    this.thread.once('online', () => done(null))
  }

  all(sql, bindings, done = bindings) {
    this.waiting.push(done)
    this.thread.postMessage({ sql, bindings: Array.isArray(bindings) ? bindings : [] })
  }

  run(sql, bindings, done = bindings) {
    this.all(sql, bindings, done)
  }

  exec(script, done) {
    this.waiting.push(done)
    this.thread.postMessage({ script })
  }

  prepare(sql, done) {
    queueMicrotask(() => done(null))
    return { all: (bindings, then) => this.all(sql, bindings, then), finalize: () => undefined }
  }

  interrupt() {
    // Interrupting is not possible: a thread does not receive messages while it runs a statement.
  }

  close(done) {
    this.thread.terminate().then(() => done(null))
  }
}

/** Converts values, because better-sqlite3 rejects booleans and binds whole numbers as fractions. */
function toSqlite(value) {
  return typeof value === 'boolean' || Number.isSafeInteger(value) ? BigInt(value) : value
}

function serve(file) {
  const database = new (require('better-sqlite3'))(file)
  const kept = new Map()
  const run = ({ script, sql, bindings }) => {
    if (script !== undefined) return void database.exec(script)
    const statement = kept.get(sql) ?? database.prepare(sql)
    kept.set(sql, statement)
    const values = bindings.map(toSqlite)
    if (statement.reader) return statement.all(values)
    statement.run(values)
  }
  parentPort.on('message', (message) => {
    try {
      parentPort.postMessage({ rows: run(message) ?? [] })
    } catch ({ message: text, code }) {
      parentPort.postMessage({ error: { message: text, code } })
    }
  })
}

if (isMainThread) module.exports = { Database, OPEN_READONLY: 1, OPEN_READWRITE: 2, OPEN_CREATE: 4 }
else serve(workerData)
