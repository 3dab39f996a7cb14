import knex from 'knex'

/** The errors of the databases and their drivers, grouped by how callers handle them. */

/** The reason that the database cannot serve a request. */
export type Unavailability =
  | 'full'
  | 'readOnly'
  | 'damaged'
  | 'failing'
  | 'unopened'
  | 'locked'
  | 'unreachable'
  | 'slow'
  | 'busy'

const unavailabilities: Record<Unavailability, readonly string[]> = {
  full: ['SQLITE_FULL', '53100'],
  // PostgreSQL reports 25006 if a failover turned the server of the connection into a standby.
  readOnly: ['SQLITE_READONLY', '25006'],
  damaged: ['SQLITE_CORRUPT', 'SQLITE_NOTADB'],
  failing: ['SQLITE_IOERR', '58030'],
  // SQLite opens temporary files during a statement. The process or the machine can have too many open files.
  unopened: ['SQLITE_CANTOPEN', 'EMFILE', 'ENFILE'],
  locked: ['SQLITE_BUSY', 'SQLITE_LOCKED', '55P03'],
  unreachable: [
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOENT', 'ENOTFOUND', 'ETIMEDOUT', 'EAI_AGAIN'],
    // PostgreSQL is shutting down or starting up, or a connection broke.
    ...['57P01', '57P02', '57P03', '08000', '08003', '08006'],
  ],
  slow: ['SQLITE_INTERRUPT', '57014'],
  // In this order: too many connections, a transaction that was idle for too long, a serialization failure, a deadlock.
  busy: ['53300', '25P03', '40001', '40P01'],
}

const byCode = new Map(
  Object.entries(unavailabilities).flatMap(([why, codes]) => codes.map((code) => [code, why as Unavailability])),
)

/** Whether a statement exceeded its time limit (see `Database.forRequests`). */
export function isTooSlow(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return unavailabilities.slow.includes(code as string)
}

/**
 * Whether a pooler closed the connection. PgBouncer uses the code 08P01 for all its errors, for example if the server
 * is down.
 */
export function isPoolerError(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return code === '08P01' && severity === 'FATAL'
}

/** Whether a unique index rejected a row. On SQLite, also true for other constraints, which have the same code. */
export function isTaken(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return code === 'SQLITE_CONSTRAINT' || code === '23505'
}

/** Whether the database is temporarily unavailable, so that the same request can succeed later. */
export function isUnavailable(error: unknown): boolean {
  return findUnavailability(error) !== undefined
}

/** Returns why the database could not serve a request; `undefined` for an error with another cause. */
export function findUnavailability(error: unknown): Unavailability | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof knex.KnexTimeoutError) return 'busy'
  const { code } = error as { code?: unknown }
  if (isPoolerError(error)) return 'unreachable'
  return byCode.get(code as string) ?? findUnavailability(error.cause)
}
