import { resolve } from 'node:path'
import { SetupError } from '../../core/errors.ts'
import { sqliteFile } from '../../storage/db/database.ts'
import { clearDamage } from '../../storage/db/sqlite/sqlite-client.ts'
import { findFault } from '../../storage/db/sqlite/sqlite-file.ts'

class DatabaseError extends SetupError {
  override readonly name = 'DatabaseError'
  constructor(databaseUrl: string, { why, fix }: Trouble, options?: ErrorOptions) {
    const file = sqliteFile(databaseUrl)
    super(`The database ${file ? resolve(file) : withoutPassword(databaseUrl)} cannot be used: ${why}.`, {
      ...options,
      fix: `${fix}, or correct --database (PASSES_DATABASE_URL)`,
    })
  }
}

interface Trouble {
  why: string
  fix: string
  /** Whether to append the message of the database server or of the driver to `why`. */
  isQuoted?: boolean
}

/** @throws DatabaseError, without the SQL statement in its message, if `work` fails with a known error */
export async function onDatabase<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { name, code = name, message, syscall } = error as NodeJS.ErrnoException
    const isClosedWithTls = code === 'ECONNRESET' && /[?&]sslmode=/.test(databaseUrl)
    const isSocketMissing = code === 'ENOENT' && syscall === 'connect'
    const problem = isClosedWithTls ? closedWithTls : troubles[isSocketMissing ? 'ECONNREFUSED' : code]
    if (!problem) throw error
    // Omit the SQL statement, which knex puts before the message.
    const why = problem.isQuoted ? `${problem.why}: ${message.split(' - ').at(-1)}` : problem.why
    throw new DatabaseError(databaseUrl, { ...problem, why }, { cause: error })
  }
}

/** @throws DatabaseError if a server found the file damaged, and a check of the whole file confirms the damage */
export async function assertSound(databaseUrl: string): Promise<void> {
  const file = sqliteFile(databaseUrl)
  const fault = file && (await clearDamage(file, findFault))
  if (!fault) return
  throw new DatabaseError(databaseUrl, {
    why: `a server found the file damaged, and a check confirms this: it ${fault}`,
    fix: RESTORE,
  })
}

export function missingDatabase(databaseUrl: string): DatabaseError {
  return new DatabaseError(databaseUrl, {
    why: 'the file does not exist',
    fix: 'correct the path, or create the file with "passes migrate" or "passes serve"',
  })
}

export function withoutPassword(databaseUrl: string): string {
  return databaseUrl.replace(/^(\w+:\/\/[^:@/]*):.*@/s, '$1:…@').replaceAll(/([?&]password=)[^&]*/g, '$1…')
}

const noHost = { why: 'the host name is unknown', fix: 'correct the name' }
const unknownCa = {
  why: 'its TLS certificate is not signed by a known CA',
  fix: 'give the certificate of that CA in the address, as ?sslmode=verify-full&sslrootcert=FILE',
}

/** The error if the address requires TLS and the server lacks it. The driver reports only a closed connection. */
const closedWithTls = {
  why: 'the connection was closed',
  isQuoted: true,
  fix: 'enable TLS on the server (ssl = on), or remove sslmode from the address if the network is trusted',
}

const RESTORE = 'restore the last backup'

/** The known problems, by error code of SQLite, the network, or PostgreSQL, or by the name of an error without code. */
const troubles: Record<string, Trouble> = {
  SQLITE_CANTOPEN: {
    why: 'it cannot be opened',
    fix: 'check that it is a file, that its folder exists, and that this user can write to it',
  },
  SQLITE_NOTADB: { why: 'it is not a SQLite database', fix: 'move that file away' },
  SQLITE_CORRUPT: { why: 'it is damaged', fix: RESTORE },
  SQLITE_READONLY: { why: 'it is not writable', fix: 'let this user write to the file and its folder' },
  SQLITE_FULL: { why: 'the disk is full', fix: 'free space' },
  SQLITE_BUSY: { why: 'another process keeps it locked', fix: 'try again' },
  ECONNREFUSED: { why: 'no server responds there', fix: 'start PostgreSQL' },
  KnexTimeoutError: {
    why: 'it did not accept a connection in time',
    fix: 'check the host, the port, and the firewall, and that PostgreSQL responds there',
  },
  ENOTFOUND: noHost,
  EAI_AGAIN: noHost,
  '55P03': { why: 'another process keeps a table of it locked', fix: 'try again' },
  ECONNRESET: {
    why: 'the connection was closed',
    isQuoted: true,
    fix: 'check that PostgreSQL listens at that address',
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownCa,
  SELF_SIGNED_CERT_IN_CHAIN: unknownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownCa,
  CERT_HAS_EXPIRED: { why: 'its TLS certificate has expired', fix: 'renew it' },
  ERR_TLS_CERT_ALTNAME_INVALID: {
    why: 'its TLS certificate is for another host',
    fix: 'connect by a name that the certificate contains',
  },
  '08P01': {
    why: 'the connection pooler rejects it',
    isQuoted: true,
    fix: 'set pool_mode to transaction or session in the pooler, and read its log',
  },
  '25006': { why: 'it is read-only', fix: 'connect to the primary server' },
  '28000': {
    why: 'the server rejects the connection',
    isQuoted: true,
    fix: 'check the user and pg_hba.conf, and add ?sslmode=verify-full to the address if the server requires TLS',
  },
  '28P01': { why: 'it rejects the user or the password', fix: 'check both' },
  '42501': {
    why: 'the user lacks a privilege',
    isQuoted: true,
    fix: 'grant it, or connect as the owner of the tables',
  },
  '53300': { why: 'it has no connection left', fix: 'raise max_connections, or stop other clients' },
  '57P03': { why: 'it is starting or stopping', fix: 'try again' },
  '3D000': { why: 'the server has no database of that name', fix: 'create it with createdb' },
}
