import { randomUUID } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { copyFile, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { openDatabase } from '../storage/database.ts'
import { migrate } from '../storage/migrate.ts'
import { copyInto, findFault, holdsData, moveLogs, settle, sizeOf, skipWalletTags } from '../storage/sqlite-file.ts'
import { createStore } from '../storage/store.ts'
import { operator } from './audit.ts'
import { OperatorError } from './operator.ts'
import { type KeyState, keyStateOf } from './server-key.ts'

export interface Backup {
  file: string
  bytes: number
}

export interface BackupOptions {
  /** Replaces a file of that name. */
  force: boolean
  onProgress: (bytes: number, total: number) => void
}

export interface Restored {
  database: string
  /** Where the database of before is kept; null where there was none. */
  replaced: string | null
  /** Migrations that the backup lacked. */
  applied: string[]
  /** Whether the key beside the database is the one that the backup was made with. */
  key: KeyState
}

const PROGRESS_MS = 200

/**
 * Copies a SQLite database while servers work on it: whatever was acknowledged before it began is in the copy. The copy
 * has its name only once it is whole, checked and on the disk.
 * @throws OperatorError
 */
export async function backUp(database: string, file: string, { force, onProgress }: BackupOptions): Promise<Backup> {
  const target = resolve(file)
  if (!(await exists(database))) throw new OperatorError(`There is no database ${database}.`)
  if (!force && (await exists(target))) throw new OperatorError(`${target} is there already; --force replaces it.`)
  const draft = `${target}.${randomUUID()}.part`
  // Readable by nobody else from the first byte on.
  await (await open(draft, 'wx', 0o600)).close()
  try {
    const total = await sizeOf(database)
    const watching = setInterval(() => onProgress(Math.min(statSync(draft).size, total), total), PROGRESS_MS)
    await copyInto(database, draft).finally(() => clearInterval(watching))
    const fault = await findFault(draft)
    if (fault) throw new OperatorError(`The copy ${fault}. Is the disk sound, and the database?`)
    await flush(draft)
    await rename(draft, target)
    await flush(dirname(target))
    return { file: target, bytes: (await stat(target)).size }
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * Puts a backup in the place of a SQLite database. The new database has its name in one step, checked and on the disk;
 * the one of before is kept beside it.
 * @throws OperatorError where the backup is none, or the database is in use or would be lost
 */
export async function restore(
  file: string,
  database: string,
  { force, at }: { force: boolean; at: Date },
): Promise<Restored> {
  const source = resolve(file)
  const target = resolve(database)
  if (!(await exists(source))) throw new OperatorError(`There is no file ${source}.`)
  if (source === target) throw new OperatorError(`${source} is the database itself.`)
  await checkTarget(target, force)
  const draft = `${target}.${randomUUID()}.part`
  try {
    await copyFile(source, draft, constants.COPYFILE_EXCL)
    const fault = await findFault(draft)
    if (fault) throw new OperatorError(`${source} ${fault}. Nothing was changed.`)
    const applied = await prepare(draft, at)
    const key = await keyStateOf(draft, target)
    const replaced = await replace(target, draft, at)
    return { database: target, replaced, applied, key }
  } finally {
    await rm(draft, { force: true })
  }
}

async function checkTarget(target: string, force: boolean): Promise<void> {
  if (!(await exists(target))) return
  if (!(await settle(target))) {
    throw new OperatorError(`${target} is open: stop the servers that use it, then restore.`)
  }
  if (!force && (await holdsData(target))) {
    throw new OperatorError(`${target} holds data; --force replaces it, and keeps it beside the new one.`)
  }
}

/** Brings the copy up to date, notes the restore in it, and puts all of it on the disk. */
async function prepare(draft: string, at: Date): Promise<string[]> {
  const opened = openDatabase(`sqlite:${draft}`)
  let applied: string[]
  try {
    applied = await migrate(opened)
    const entry = { action: 'database.restore' as const, actor: operator('restore'), targetId: null }
    await createStore(opened).transaction((tx) => tx.auditLog.insert(null, { ...entry, correlationId: null }, at))
  } finally {
    await opened.close()
  }
  await skipWalletTags(draft)
  await settle(draft)
  const handle = await open(draft, 'r+')
  await handle.chmod(0o600)
  await handle.sync()
  await handle.close()
  return applied
}

async function replace(target: string, draft: string, at: Date): Promise<string | null> {
  const aside = `${target}.replaced-${at.toISOString().replaceAll(/[:.]/g, '-')}`
  const isThere = await exists(target)
  // A second name for the old one: at no moment is there none, or half of one.
  if (isThere) await link(target, aside)
  moveLogs(target, aside)
  await rename(draft, target)
  await flush(dirname(target))
  return isThere ? aside : null
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  await handle.sync()
  await handle.close()
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
