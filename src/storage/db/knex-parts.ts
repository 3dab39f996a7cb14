import { createRequire } from 'node:module'

/**
 * The parts of knex that are not public, for our own clients (CONTRIBUTING.md, Dependencies). Only this file uses them.
 *
 * - `Client` sends each statement through `send`, and accepts a pool with the interface of knex's pool.
 * - `Transaction` ends with `resolve` or `reject`. After a failed ROLLBACK, knex would report the error of the ROLLBACK
 *   instead of the original error. After a failed COMMIT, knex would return a connection with an open transaction to
 *   the pool.
 */
export function knexParts(dialect: 'sqlite' | 'postgres') {
  const require = createRequire(import.meta.url)
  const [BaseClient, BaseTransaction] =
    dialect === 'sqlite'
      ? [
          require('knex/lib/dialects/sqlite3/index.js'),
          require('knex/lib/dialects/sqlite3/execution/sqlite-transaction.js'),
        ]
      : [
          require('knex/lib/dialects/postgres/index.js'),
          require('knex/lib/dialects/postgres/execution/pg-transaction.js'),
        ]

  class Client extends BaseClient {
    send(connection: unknown, query: unknown) {
      return super._query(connection, query)
    }

    _query(connection: unknown, query: unknown) {
      return this.send(connection, query)
    }

    wrapNativePool(pool: unknown) {
      return pool
    }
  }

  class Transaction extends BaseTransaction {
    run(connection: unknown, statement: unknown) {
      return this.trxClient.query(connection, statement)
    }

    resolve(value: unknown) {
      this._completed = true
      this._resolver(value)
    }

    reject(reason: unknown) {
      this._completed = true
      this._rejecter(reason)
    }
  }

  return { Client, Transaction }
}

/** Marks a connection as unusable, so that the pool replaces it. */
export function discard(connection: object, reason: unknown): void {
  Object.assign(connection, { __knex__disposed: reason })
}

/** Whether a connection ended or is unusable. */
export function isDiscarded(connection: object): boolean {
  return Boolean((connection as { __knex__disposed?: unknown }).__knex__disposed)
}
