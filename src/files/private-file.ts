import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { type FileHandle, link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * The modes of private files (0600) and their folders (0700), which hold tokens, keys, links, and names of holders. A
 * file is created with its mode, because other users could open it before a later change of the mode. An existing file
 * keeps the mode that its owner chose.
 */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** Opens a private file for writing. If the file exists, `w` truncates it, and `wx` fails. */
export function openPrivate(path: string, flags: 'w' | 'wx'): Promise<FileHandle> {
  return open(path, flags, FILE_MODE)
}

/** Opens a private file like `openPrivate`. `a` appends to the file, and `ax` appends to a new file. */
export function openPrivateSync(path: string, flags: 'w' | 'wx' | 'a' | 'ax'): number {
  return openSync(path, flags, FILE_MODE)
}

/** Writes a private file and flushes it to disk. */
export async function writePrivate(path: string, content: string | Uint8Array): Promise<void> {
  const file = await openPrivate(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } catch (error) {
    throw withPath(error, path)
  } finally {
    await file.close()
  }
}

/** Replaces a private file atomically. @throws the system error, after which the file is unchanged */
export function replacePrivateSync(path: string, text: string): void {
  replaceSync(path, text, FILE_MODE)
}

/**
 * Replaces an existing file of the user atomically, and keeps its mode. If the path is a symbolic link, replaces the
 * target.
 */
export function replaceOwnSync(path: string, text: string): void {
  const file = realpathSync(path)
  replaceSync(file, text, statSync(file).mode)
}

function replaceSync(path: string, text: string, mode: number): void {
  const draft = beginReplacement(path, mode)
  try {
    draft.write(text)
    draft.commit()
  } finally {
    draft.close()
  }
}

export interface Replacement {
  write(content: string | Uint8Array): void
  /** Flushes the draft to disk, and replaces the file with it. */
  commit(): void
  /** Flushes the draft to disk, and creates the file from it. @throws EEXIST if the file exists */
  commitNew(): void
  /** Closes the draft, and discards content that was not committed. Always call it. */
  close(): void
}

/**
 * Starts a draft next to the file that the draft will replace, so that a crash leaves the old or the new content.
 * write-file-atomic is not used: it replaces the file even if a full disk accepted only a part of the draft.
 */
export function beginReplacement(path: string, mode: number = FILE_MODE): Replacement {
  const draft = `${path}.${randomUUID()}`
  const file = openSync(draft, 'wx', mode)
  return {
    write(content) {
      const bytes = Buffer.from(content)
      try {
        for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
      } catch (error) {
        throw withPath(error, path)
      }
    },
    commit() {
      fsyncSync(file)
      renameSync(draft, path)
      syncFolder(dirname(path))
    },
    commitNew() {
      fsyncSync(file)
      linkSync(draft, path)
      syncFolder(dirname(path))
    },
    close() {
      closeSync(file)
      rmSync(draft, { force: true })
    },
  }
}

/** Returns the path of the draft to which `writePrivateWhole` writes. */
export function draftOf(path: string): string {
  return `${path}.part`
}

/**
 * Writes a file in pieces. The file appears under its name only when it is complete and flushed to disk. The caller
 * must hold the lock of the file, because a draft that a killed run left is overwritten.
 * @throws EEXIST if the file exists and `replaces` is false, and the errors of `pieces`. After an error, no draft is
 * left
 */
export async function writePrivateWhole(
  path: string,
  pieces: AsyncIterable<string>,
  { replaces }: { replaces: boolean },
): Promise<void> {
  const draft = draftOf(path)
  await rm(draft, { force: true })
  const file = await openPrivate(draft, 'wx')
  const rethrow = (error: unknown) => {
    throw withPath(error, path)
  }
  try {
    try {
      for await (const piece of pieces) await file.appendFile(piece).catch(rethrow)
      await file.sync()
    } finally {
      await file.close()
    }
    await (replaces ? rename : link)(draft, path)
    syncFolder(dirname(path))
  } finally {
    await rm(draft, { force: true })
  }
}

/** Creates a folder that only its owner can enter. Creates missing parent folders, too. */
export function makePrivateFolder(path: string): void {
  try {
    makeFolder(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    // Do not use recursive mkdir, which never ends in an existing folder that reports ENOENT, such as /proc.
    makePrivateFolder(dirname(path))
    makeFolder(path)
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: FOLDER_MODE })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !statSync(path).isDirectory()) throw error
  }
}

/** Adds the path to an error of a write, because Node omits the path of an open file. */
export function withPath(error: unknown, path: string): unknown {
  return Object.assign(error as Error, { path })
}

/** Flushes a folder to disk, so that a created or renamed file in the folder survives a power failure. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Whether the mode lets other users of the machine read or change a file. Always `false` on Windows. */
export function isOpenToOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}

/** Whether a path is a pipe, such as a shell's <(command). A pipe can be read only once and cannot be truncated. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
}

/** Returns a handler of read errors. It returns `fallback` if the file does not exist, and throws any other error. */
export function ifMissing<T>(fallback: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return fallback
    throw error
  }
}

/** Whether a path exists. @throws the system error if the path cannot be checked */
export function exists(path: string): Promise<boolean> {
  return stat(path).then(() => true, ifMissing(false))
}
