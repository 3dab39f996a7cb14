import { resolve } from 'node:path'
import { SetupError } from '../../core/errors.ts'
import { sqliteFile } from '../../storage/db/database.ts'
import { clearDamage } from '../../storage/db/sqlite-client.ts'
import { findFault } from '../../storage/db/sqlite-file.ts'

/** A database cannot be worked with: says which, why and what to do. */
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
}

/**
 * Does work on a database; what the database itself has to say comes in words of ours, without the statement.
 * @throws DatabaseError
 */
export async function onDatabase<T>(databaseUrl: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code } = error as { code?: string }
    const trouble = code && troubles[code]
    throw trouble ? new DatabaseError(databaseUrl, trouble, { cause: error }) : error
  }
}

/**
 * Lets nobody serve from a file that was found damaged before, unless a check of the whole file finds nothing.
 * @throws DatabaseError
 */
export async function assertSound(databaseUrl: string): Promise<void> {
  const file = sqliteFile(databaseUrl)
  const fault = file && (await clearDamage(file, findFault))
  if (!fault) return
  throw new DatabaseError(databaseUrl, { why: `it was found damaged, and a check says: it ${fault}`, fix: RESTORE })
}

/** A SQLite file that is not there, which opening would make. */
export function missingDatabase(databaseUrl: string): DatabaseError {
  return new DatabaseError(databaseUrl, {
    why: 'there is no such file',
    fix: 'passes migrate, or passes serve, makes it where it is wanted',
  })
}

/** An address of a database, fit for messages. */
export function withoutPassword(databaseUrl: string): string {
  return databaseUrl.replace(/:\/\/([^:@/]+):[^@]*@/, '://$1:…@')
}

const noHost = { why: 'no host has that name', fix: 'see to the name' }
const noEntry = { why: 'it refuses the user or the password', fix: 'see to both' }

const RESTORE = 'restore the last backup'

/** By the codes of SQLite, of the network and of PostgreSQL. */
const troubles: Record<string, Trouble> = {
  SQLITE_CANTOPEN: {
    why: 'it cannot be opened',
    fix: 'see that it is a file, that its folder is there, and that this user may write in it',
  },
  SQLITE_NOTADB: { why: 'it is no SQLite database', fix: 'move that file away' },
  SQLITE_CORRUPT: { why: 'it is damaged', fix: RESTORE },
  SQLITE_READONLY: { why: 'it may not be written', fix: 'let this user write the file and its folder' },
  SQLITE_FULL: { why: 'the disk is full', fix: 'make room' },
  SQLITE_BUSY: { why: 'another process keeps it locked', fix: 'try again' },
  ECONNREFUSED: { why: 'nothing answers there', fix: 'start PostgreSQL' },
  ENOTFOUND: noHost,
  EAI_AGAIN: noHost,
  '55P03': { why: 'another process keeps a table of it locked', fix: 'try again' },
  '28000': noEntry,
  '28P01': noEntry,
  '3D000': { why: 'the server has no database of that name', fix: 'make it with createdb' },
}
