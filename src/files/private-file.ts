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
 * Files that nobody but their owner reads (0600, in folders of 0700): tokens, keys, links and the names of holders stand in
 * them. They are made so, since a mode that is set afterwards comes too late for whoever waits for the file. A file that
 * is there already keeps its mode: its owner chose it.
 */
const FILE_MODE = 0o600
const FOLDER_MODE = 0o700

/** `w` empties a file that is there, `wx` refuses it. */
export function openPrivate(path: string, flags: 'w' | 'wx'): Promise<FileHandle> {
  return open(path, flags, FILE_MODE)
}

/** As openPrivate; `a` appends, `ax` makes the file and appends. */
export function openPrivateSync(path: string, flags: 'w' | 'wx' | 'a' | 'ax'): number {
  return openSync(path, flags, FILE_MODE)
}

/** Writes a file as a whole, to the disk. */
export async function writePrivate(path: string, content: string | Uint8Array): Promise<void> {
  const file = await openPrivate(path, 'w')
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Replaces a private file as a whole. @throws the error of the system, and then the file is as it was */
export function replacePrivateSync(path: string, text: string): void {
  replaceSync(path, text, FILE_MODE)
}

/** The same for a file of the user's that is there: it keeps its mode, and a link to it stays a link. */
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

/** What a file is to become, on its way to the disk. */
export interface Replacement {
  write(text: string): void
  /** Puts it in the place of the file. */
  commit(): void
  /** To be called in any case; what was not committed is gone. */
  close(): void
}

/**
 * Begins a file beside the one that it replaces, so that a crash leaves the old one or the new one whole. (write-file-atomic
 * writes once and renames whatever was written: on a disk that is nearly full, a part.)
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

/** What a file is called until it is whole. */
export function draftOf(path: string): string {
  return `${path}.part`
}

/**
 * Writes a file piece by piece, which has its name only once it is whole and on the disk. Where nothing is to be replaced, a file
 * that is there stays as it is, whoever made it meanwhile. One run at a time, which holds the lock of the file: the draft of a run that
 * was killed gives way.
 * @throws EEXIST; whatever the pieces throw, and then nothing is left
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

/** Makes a folder that only its owner may enter, and those above it, where they are missing. */
export function makePrivateFolder(path: string): void {
  try {
    makeFolder(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw error
    // Not by the recursion of mkdir, which never ends where a folder that is there refuses with ENOENT, as /proc does.
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

/** A new name is safe only once its folder is on the disk, too. */
export function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** True where other users of the machine may read or change it; on Windows the mode of a file says nothing of that. */
export function isOpenToOthers(path: string): boolean {
  return process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0
}

/** Whether a pipe stands at a path, as where a shell writes <(command): what it gives comes once, and what it takes is gone. */
export function isPipe(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFIFO() === true
}

/** Whether anything stands at a path. @throws what keeps it from being seen */
export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}
