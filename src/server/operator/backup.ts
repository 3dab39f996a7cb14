import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { link, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { exists, openPrivate, syncFolder } from '../../files/private-file.ts'
import { openDatabase } from '../../storage/db/database.ts'
import { findUnavailability } from '../../storage/db/database-errors.ts'
import { migrate } from '../../storage/db/migrate.ts'
import {
  copyInto,
  findFault,
  holdsData,
  LOG_SUFFIXES,
  moveLogs,
  settle,
  sizeOf,
  skipWalletTags,
} from '../../storage/db/sqlite/sqlite-file.ts'
import { createStore } from '../../storage/store.ts'
import { missingDatabase, onDatabase } from '../boot/database-error.ts'
import { type KeyState, keyStateOf } from '../boot/server-key.ts'
import { firstTokenFile, serverKeyFile } from '../config.ts'
import { auditOperator, OperatorError } from './operator.ts'

export interface Backup {
  file: string
  bytes: number
}

export interface BackupOptions {
  /** Whether the new backup replaces an earlier one. Other files are never replaced. */
  force: boolean
  onProgress: (bytes: number, total: number) => void
}

export interface Restored {
  database: string
  /** The file to which the previous database was moved; null if there was none. */
  replaced: string | null
  /** The names of the migrations that the backup lacked, and that were applied to it. */
  applied: string[]
  key: KeyState
  /** Whether the backup had a checksum. A wrong checksum fails the restore. */
  verified: boolean
}

export interface RestoreOptions {
  /** Whether the backup replaces a database that contains data. */
  force: boolean
  /** Whether a backup without a checksum is accepted. A wrong checksum is never accepted. */
  unverified: boolean
  at: Date
}

const PROGRESS_MS = 200

/**
 * Copies a SQLite database while servers use it. The copy contains every write that was acknowledged before the copy
 * began. The copy gets its file name only when it is complete, verified, and synced to disk.
 * @throws OperatorError if the file exists without `force` or is not a backup, or if the copy fails
 */
export async function backUp(database: string, file: string, { force, onProgress }: BackupOptions): Promise<Backup> {
  const target = resolve(file)
  if (!(await exists(database))) throw missingDatabase(`sqlite:${database}`)
  if (await isFolder(target)) throw new OperatorError(`${target} is a folder. Give the name of a file in it.`)
  if (!(await exists(dirname(target))))
    throw new OperatorError(`The folder ${dirname(target)} does not exist. Create it first.`)
  if (await isPartOf(database, target)) {
    throw new OperatorError(`${target} belongs to the database itself. Name another file for the backup.`)
  }
  if (await exists(target)) {
    if (!(await isBackup(target)))
      throw new OperatorError(`${target} exists and is not a backup. Name another file, or move this one away.`)
    if (!force) throw new OperatorError(isTaken(target))
  }
  const draft = `${target}.${randomUUID()}.part`
  await (await openPrivate(draft, 'wx')).close()
  try {
    const total = await onDatabase(`sqlite:${database}`, () => sizeOf(database))
    const watching = setInterval(() => onProgress(Math.min(statSync(draft).size, total), total), PROGRESS_MS)
    await onDisk(target, async () => {
      await onDatabase(`sqlite:${database}`, () => copyInto(database, draft)).finally(() => clearInterval(watching))
      const fault = await findFault(draft)
      if (fault) throw new OperatorError(`The copy ${fault}. Check the disk and the database.`)
      await seal(draft)
    })
    if (force) {
      await rename(draft, target)
      syncFolder(dirname(target))
    } else await appear(draft, target, isTaken(target))
    return { file: target, bytes: (await stat(target)).size }
  } finally {
    await removeDraft(draft)
  }
}

/**
 * Replaces a SQLite database with a backup. The new database is verified and synced, and then renamed atomically. The
 * previous database is kept next to it.
 * @throws OperatorError if the backup is not valid, the database is in use, or it contains data and `force` is not set
 */
export async function restore(
  file: string,
  database: string,
  { force, unverified, at }: RestoreOptions,
): Promise<Restored> {
  const source = resolve(file)
  const target = resolve(database)
  if (!(await exists(source))) throw new OperatorError(`${source} does not exist.`)
  if (await isFolder(source)) throw new OperatorError(`${source} is a folder, not a backup.`)
  if (source === target) throw new OperatorError(`${source} is the database itself.`)
  const isThere = await checkTarget(target, force)
  const draft = `${target}.${randomUUID()}.part`
  try {
    const state = await onDisk(target, () => unseal(source, draft))
    const fault = typeof state === 'object' ? state.fault : await findFault(draft)
    if (fault) throw new OperatorError(`${source} ${fault}. Nothing was changed.`)
    if (state === 'without checksum') await requireWholeCopy(source)
    if (state === 'without checksum' && !unverified) {
      throw new OperatorError(
        `${source} has no checksum: an older version wrote it, or it is a copy of a database. Its pages are valid, but nothing ` +
          'proves that they are unchanged. Use --unverified to restore it anyway.',
      )
    }
    const applied = await onDisk(target, () => prepare(draft, at))
    const key = await keyStateOf(draft, target)
    const replaced = isThere
      ? await replace(target, draft, at)
      : await appear(draft, target, `${target} was created in the meantime, by another restore or a server.`)
    return { database: target, replaced, applied, key, verified: state === 'sealed' }
  } finally {
    await removeDraft(draft)
  }
}

/** Removes a draft, and the log files that SQLite leaves next to it if a write fails. */
async function removeDraft(draft: string): Promise<void> {
  for (const suffix of ['', ...LOG_SUFFIXES]) await rm(`${draft}${suffix}`, { force: true })
}

/** @throws OperatorError if the disk of the file is full */
async function onDisk<T>(file: string, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    const { code } = error as { code?: unknown }
    if (code !== 'ENOSPC' && findUnavailability(error) !== 'full') throw error
    throw new OperatorError(`The disk of ${file} is full. Nothing was changed.`, {
      fix: `free space in ${dirname(file)}, or name a file on another disk`,
      cause: error,
    })
  }
}

/** Returns whether the database exists. @throws OperatorError if it is open, or has data and `force` is not set */
async function checkTarget(target: string, force: boolean): Promise<boolean> {
  if (!(await exists(target))) return false
  if (!(await settle(target))) {
    throw new OperatorError(`${target} is open: stop the servers that use it, then restore.`)
  }
  if (!force && (await holdsData(target))) {
    throw new OperatorError(`${target} contains data; --force replaces it, and keeps the old file next to the new one.`)
  }
  return true
}

/** Whether a file is the database or belongs to it: a file of SQLite next to it, the server key, or the first token. */
async function isPartOf(database: string, file: string): Promise<boolean> {
  const config = { databaseUrl: `sqlite:${database}` }
  // Resolve a symbolic link, because SQLite keeps its logs next to the target of the link.
  const real = await realpath(database)
  const logs = LOG_SUFFIXES.map((suffix) => `${real}${suffix}`)
  const named = join(await realpath(dirname(file)), basename(file))
  for (const part of [real, ...logs, serverKeyFile(config)!, firstTokenFile(config)!]) {
    if (part === named || (await isSameFile(part, file))) return true
  }
  return false
}

async function isSameFile(a: string, b: string): Promise<boolean> {
  if (!(await exists(a)) || !(await exists(b))) return false
  const [one, other] = [await stat(a), await stat(b)]
  return one.dev === other.dev && one.ino === other.ino
}

async function isFolder(path: string): Promise<boolean> {
  return (await exists(path)) && (await stat(path)).isDirectory()
}

function isTaken(target: string): string {
  return `${target} already exists; --force replaces it.`
}

/** Migrates the copy, records the restore in its audit log, and syncs it to disk. */
async function prepare(draft: string, at: Date): Promise<string[]> {
  const opened = openDatabase(`sqlite:${draft}`)
  let applied: string[]
  try {
    applied = await migrate(opened)
    const entry = { action: 'database.restore' as const, targetId: null }
    await createStore(opened).transaction((tx) => auditOperator(tx, null, entry, at))
  } finally {
    await opened.close()
  }
  await skipWalletTags(draft)
  await settle(draft)
  const handle = await open(draft, 'r+')
  await handle.sync()
  await handle.close()
  return applied
}

/** Replaces the database with the draft. Returns the file that keeps the previous database. */
async function replace(target: string, draft: string, at: Date): Promise<string> {
  const aside = `${target}.replaced-${at.toISOString().replaceAll(/[:.]/g, '-')}`
  // Link the old file under a second name instead of renaming it. Otherwise, a crash before `draft` is renamed would
  // leave no database at the target.
  await link(target, aside)
  moveLogs(target, aside)
  await rename(draft, target)
  syncFolder(dirname(target))
  return aside
}

/**
 * Gives a draft its final name atomically, by adding a second hard link. The caller must delete the draft's old name.
 * @throws OperatorError with `rejection` if a file has the final name
 */
export async function appear(draft: string, target: string, rejection: string): Promise<null> {
  try {
    await link(draft, target)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new OperatorError(rejection)
    throw error
  }
  syncFolder(dirname(target))
  return null
}

/**
 * The start of the last line of a backup. The line follows the SQLite database, and contains the length and the SHA-256
 * of the database: a separate checksum file could get lost. SQLite reads only the pages that its header counts, so a
 * backup also opens as a database.
 */
const MARK = '\npasses-backup-1 '
const LINE = /\npasses-backup-1 bytes=(\d+) sha256=([0-9a-f]{64})\n$/
const LONGEST_LINE = 128

const MAGIC = Buffer.from('SQLite format 3\0')
const HEADER_BYTES = 100

/** Appends the checksum line to a complete database, and syncs the file. */
async function seal(path: string): Promise<void> {
  const { size } = await stat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const file = await open(path, 'r+')
  try {
    await file.write(`${MARK}bytes=${size} sha256=${hash.digest('hex')}\n`, size)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** The state of a backup: `sealed` (the checksum matches), `without checksum` (from an older version), or unusable. */
export type Unsealed =
  /** The reason why the file cannot be restored, as a phrase after the file name. */
  { fault: string } | 'sealed' | 'without checksum'

/**
 * Copies the database in a backup to a private file, and verifies the checksum. A file without a checksum line is
 * copied unchanged: an older version wrote it, or it is not a backup.
 */
async function unseal(path: string, target: string): Promise<Unsealed> {
  const { size } = await stat(path)
  if (size === 0) return { fault: 'is empty: it contains no database of passes' }
  const head = await readAt(path, 0, HEADER_BYTES)
  if (!head.subarray(0, MAGIC.length).equals(MAGIC)) return { fault: 'is not a SQLite database, or is damaged' }
  const tail = await readTail(path, size)
  const line = LINE.exec(tail)
  const expected = line ? Number(line[1]) : lengthOf(head)
  const found = size - (line?.[0].length ?? 0)
  if (found < expected) return { fault: `is damaged: it was cut short, and has ${found} of ${expected} bytes` }
  if (line ? found > expected : tail.includes(MARK)) return { fault: 'is damaged: bytes were added or lost at its end' }
  const digest = await copy(path, target, found)
  if (!line) return 'without checksum'
  return digest === line[2] ? 'sealed' : { fault: 'is damaged: its content does not match its checksum' }
}

/** @throws OperatorError if a write-ahead log is next to a copy of a database, because the copy lacks its changes */
async function requireWholeCopy(source: string): Promise<void> {
  const log = `${source}-wal`
  if (!(await exists(log)) || (await stat(log)).size === 0) return
  throw new OperatorError(
    `${source} is a database whose newest changes are in ${log}, so a restore would lose them. Run "passes backup FILE ` +
      `--database sqlite:${source}" to write both into one backup, and restore this backup. Nothing was changed.`,
  )
}

async function copy(path: string, target: string, bytes: number): Promise<string> {
  const hash = createHash('sha256')
  const file = await openPrivate(target, 'wx')
  try {
    for await (const chunk of createReadStream(path, { end: bytes - 1, highWaterMark: 1024 * 1024 })) {
      hash.update(chunk)
      await file.writeFile(chunk)
    }
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

/** Whether `force` can replace a file: a backup with its checksum line, or an empty file. */
async function isBackup(path: string): Promise<boolean> {
  const stats = await stat(path)
  return stats.isFile() && (stats.size === 0 || LINE.test(await readTail(path, stats.size)))
}

async function readTail(path: string, size: number): Promise<string> {
  return (await readAt(path, Math.max(0, size - LONGEST_LINE), LONGEST_LINE)).toString('latin1')
}

/** Returns the length of a database, in bytes, according to its header (page size × page count). */
function lengthOf(head: Buffer): number {
  const pageBytes = head.readUInt16BE(16)
  return (pageBytes === 1 ? 65_536 : pageBytes) * head.readUInt32BE(28)
}

async function readAt(path: string, position: number, bytes: number): Promise<Buffer> {
  const file = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, position)
    return buffer.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}
