import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type CopiedTable, type CopyOptions, copyDatabase } from '../../storage/copy/copy-rows.ts'
import { isHalfCopied, requireWhole } from '../../storage/copy/target.ts'
import { type Database, openDatabase, sqliteFile } from '../../storage/db/database.ts'
import { migrate, pendingMigrations, unknownMigrations } from '../../storage/db/migrate.ts'
import { settle } from '../../storage/db/sqlite/sqlite-file.ts'
import { createStore } from '../../storage/store.ts'
import { missingDatabase, onDatabase } from '../boot/database-error.ts'
import { appear } from './backup.ts'
import { auditOperator, lacksMigrations, OperatorError } from './operator.ts'

/** The addresses of both databases: sqlite:FILE or postgres://… */
export interface CopyAddresses {
  from: string
  to: string
}

/**
 * Copies a database. The same call resumes an interrupted copy (decisions/0021). A SQLite file gets its name only when
 * it is complete, and a server rejects an incomplete database.
 * @throws OperatorError, CopyError, DatabaseError
 */
export async function copy(addresses: CopyAddresses, options: CopyOptions & { at: Date }): Promise<CopiedTable[]> {
  const { from, to } = addresses
  const source = sqliteFile(from)
  const target = sqliteFile(to)
  if (source && !existsSync(source)) throw missingDatabase(from)
  if (from === to || (source && target && resolve(source) === resolve(target))) {
    throw new OperatorError('Source and target are the same database: choose another target with --to.')
  }
  if (!target) return copyInto(addresses, options)
  if (existsSync(target)) throw new OperatorError(`${target} already exists: choose another file.`)
  const draft = `${target}.copy`
  const copied = await copyInto({ from, to: `sqlite:${draft}` }, options)
  await settle(draft)
  await appear(
    draft,
    target,
    `${target} was created in the meantime. Move it away, and rename the copy ${draft} to ${target}.`,
  )
  await rm(draft)
  return copied
}

async function copyInto({ from, to }: CopyAddresses, { at, ...options }: CopyOptions & { at: Date }) {
  const databases: Database[] = []
  const open = (url: string) => {
    const database = openDatabase(url)
    databases.push(database)
    return database
  }
  try {
    const source = open(from)
    await onDatabase(from, () => requireCopyable(source, at))
    const target = open(to)
    await onDatabase(to, async () => {
      if (!(await isHalfCopied(target.writer))) await migrate(target)
    })
    const copied = await copyDatabase(source, target, options).catch((error: unknown) =>
      onDatabase(isSqliteError(error) === (source.dialect === 'sqlite') ? from : to, () => Promise.reject(error)),
    )
    const entry = { action: 'database.copy' as const, targetId: null }
    await createStore(target).transaction((tx) => auditOperator(tx, null, entry, at))
    return copied
  } finally {
    await Promise.all(databases.map((database) => database.close()))
  }
}

function isSqliteError(error: unknown): boolean {
  return String((error as { code?: unknown }).code).startsWith('SQLITE_')
}

/**
 * Checks that the source is complete and up to date, and that no server uses it: the copy would miss later writes of a
 * server.
 */
async function requireCopyable(source: Database, at: Date): Promise<void> {
  await requireWhole(source.reader)
  const pending = await pendingMigrations(source)
  if (pending.length > 0) throw lacksMigrations(pending)
  const unknown = await unknownMigrations(source.reader)
  if (unknown.length > 0) {
    throw new OperatorError(
      `A newer version migrated the database: use that version to copy it (unknown migrations: ${unknown.join(', ')}).`,
    )
  }
  const held = await source.reader('leases').max({ until: 'held_until' }).first()
  const seconds = Math.ceil((Number(held?.until ?? 0) - at.getTime()) / 1000)
  if (seconds <= 0) return
  throw new OperatorError(
    'A server uses the database, and its writes during the copy would be lost. Stop all servers, or start them with ' +
      `--freeze. A crashed server counts as running for ${seconds} s.`,
  )
}
