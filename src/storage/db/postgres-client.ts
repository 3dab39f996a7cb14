import { createRequire } from 'node:module'
import type { Knex } from 'knex'

/** Limits of time of a connection, in milliseconds; none where left out. */
export interface PostgresLimits {
  /** What a statement inside a transaction may take, its waiting for locks included. */
  transactionLimitMs?: number
  /** A connection that does not answer for so long is given up; for one that everybody waits for. */
  responseLimitMs?: number
}

/**
 * pg reports a connection that could not be made, or ended under a statement, without any code; and one that is of no more
 * use stays in the pool until it is gone. This client names the first and throws away the second.
 */
export function postgresClient({ transactionLimitMs, responseLimitMs }: PostgresLimits = {}): typeof Knex.Client {
  const require = createRequire(import.meta.url)
  const Client = require('knex/lib/dialects/postgres/index.js')
  const Transaction = require('knex/lib/dialects/postgres/execution/pg-transaction.js')
  class LimitedTransaction extends Transaction {
    begin(connection: unknown) {
      return this.query(connection, `BEGIN; SET LOCAL statement_timeout = ${transactionLimitMs}; ${BY_INDEX}`)
    }
  }
  const create = (...args: unknown[]) => Reflect.construct(LimitedTransaction, args)
  return class PostgresClient extends Client {
    transaction(...args: unknown[]) {
      return transactionLimitMs === undefined ? super.transaction(...args) : create(this, ...args)
    }

    /** A pool of ours has the shape that knex wants. */
    wrapNativePool(pool: unknown) {
      return pool
    }

    async acquireRawConnection() {
      try {
        return await super.acquireRawConnection()
      } catch (error) {
        throw (error as { code?: string }).code === undefined ? lostConnection(error) : error
      }
    }

    async _query(connection: PostgresConnection, query: unknown) {
      const cut = responseLimitMs && setTimeout(() => connection.connection.stream.destroy(), responseLimitMs)
      try {
        return await super._query(connection, query)
      } catch (error) {
        const { code } = error as { code?: string }
        if (code !== undefined && USELESS.test(code)) connection.__knex__disposed = error
        throw code === undefined && connection.__knex__disposed ? lostConnection(error) : error
      } finally {
        clearTimeout(cut)
      }
    }
  } as unknown as typeof Knex.Client
}

/**
 * Transactions of requests find rows by their keys. A plan that is kept from when a table was small would read all of it for
 * each row of a table that grew since, until the database looks at it again: a minute at a door that just opened.
 */
const BY_INDEX = 'SET LOCAL enable_seqscan = off; SET LOCAL jit = off'

/** The server ends the connection: it shuts down, or we hung in a transaction. Or it takes no writes since a failover. */
const USELESS = /^(57P..|25P03|25006)$/

function lostConnection(error: unknown): Error {
  return Object.assign(error as Error, { code: 'ECONNRESET' })
}

interface PostgresConnection {
  /** Set by knex when the connection ended; the pool then makes another. */
  __knex__disposed?: unknown
  connection: { stream: { destroy(): void } }
}
