import { randomUUID } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
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
 * Modes of private files (0600) and their folders (0700), which hold tokens, keys, links, and names of holders. Files
 * are created with them, because setting the mode later leaves a time in which others can open the file. An existing
 * file keeps the mode that its owner chose.
 */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** `w` truncates an existing file, `wx` rejects it. */
export function openPrivate(path: string, flags: 'w' | 'wx'): Promise<FileHandle> {
  return open(path, flags, FILE_MODE)
}

/** Like `openPrivate`; `a` appends, `ax` creates the file and appends. */
export function openPrivateSync(path: string, flags: 'w' | 'wx' | 'a' | 'ax'): number {
  return openSync(path, flags, FILE_MODE)
}

/** Writes a complete file and flushes it to disk. */
export async function writePrivate(path: string, content: string | Uint8Array): Promise<void> {
  const file = await openPrivate(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Replaces a private file atomically. @throws the system error, after which the file is unchanged */
export function replacePrivateSync(path: string, text: string): void {
  replaceSync(path, text, FILE_MODE)
}

/** Replaces an existing file of the user atomically. It keeps its mode, and a symbolic link stays one. */
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

/** A pending replacement of the content of a file. */
export interface Replacement {
  write(text: string): void
  /** Replaces the file. */
  commit(): void
  /** Always call it; discards content that was not committed. */
  close(): void
}

/**
 * Starts a draft next to the file that it replaces, so that a crash leaves either file complete. (write-file-atomic
 * writes once and renames the result even if a nearly full disk accepted only a part.)
 */
export function beginReplacement(path: string, mode: number = FILE_MODE): Replacement {
  const draft = `${path}.${randomUUID()}`
  const file = openSync(draft, 'wx', mode)
  return {
    write(text) {
      const bytes = Buffer.from(text)
      for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written)
    },
    commit() {
      fsyncSync(file)
      renameSync(draft, path)
      syncFolder(dirname(path))
    },
    close() {
      closeSync(file)
      rmSync(draft, { force: true })
    },
  }
}

/** Returns the path of a file while it is incomplete. */
export function draftOf(path: string): string {
  return `${path}.part`
}

/**
 * Writes a file in pieces and renames it only when it is complete and flushed to disk. Unless it replaces a file, a
 * concurrently created file is kept. The caller must hold the lock of the file; the draft of a killed run is
 * overwritten.
 * @throws EEXIST; errors of the pieces, after which no draft is left
 */
export async function writePrivateWhole(
  path: string,
  pieces: AsyncIterable<string>,
  { replaces }: { replaces: boolean },
): Promise<void> {
  const draft = draftOf(path)
  await rm(draft, { force: true })
  const file = await openPrivate(draft, 'wx')
  try {
    try {
      for await (const piece of pieces) await file.appendFile(piece)
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

/** Creates a folder that only its owner can enter, and missing parent folders. */
export function makePrivateFolder(path: string): void {
  try {
    makeFolder(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    // Do not use recursive mkdir, which never ends if an existing folder fails with ENOENT, as /proc does.
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

/** Flushes a folder: a new name is durable only after that. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** Whether other users of the machine can read or change a file. Always `false` on Windows, where modes do not show it. */
export function isOpenToOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}

/** Whether a path is a pipe, such as a shell's <(command): it can be read only once and cannot be truncated. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
}

/** Whether a path exists. @throws errors that prevent the check */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
