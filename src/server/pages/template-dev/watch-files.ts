import { type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'

export interface FileWatch {
  /** Resolves once they were read for the first time. */
  started: Promise<void>
  close(): void
}

/** An editor writes a file in a few steps: so long after the first of them it is read. */
const SETTLE_MS = 15

/**
 * Calls `changed` after each change of the files, one call at a time, and never with less than the newest. Their folders are
 * watched, since editors put a new file in the place of the old one, and a file may go and come back.
 */
export function watchFiles(files: () => string[], changed: () => Promise<void>): FileWatch {
  const watchers = new Map<string, FSWatcher>()
  let timer: NodeJS.Timeout | undefined
  let isRunning = false
  let isClosed = false

  /** Whether a folder is watched from now on that was not before. */
  function follow(): boolean {
    const folders = new Set(files().map((file) => dirname(file)))
    for (const [folder, watcher] of watchers) if (!folders.has(folder)) forget(folder, watcher)
    const added = [...folders].filter((folder) => !watchers.has(folder))
    for (const folder of added) open(folder)
    return added.some((folder) => watchers.has(folder))
  }

  function open(folder: string): void {
    try {
      const watcher = watch(folder, (_, name) => {
        if (name === null || files().some((file) => dirname(file) === folder && basename(file) === name)) notice()
      })
      watcher.on('error', () => forget(folder, watcher))
      watchers.set(folder, watcher)
    } catch (error) {
      // A folder that an image is named in need not be there; reading says so.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    }
  }

  function forget(folder: string, watcher: FSWatcher): void {
    watcher.close()
    if (watchers.get(folder) === watcher) watchers.delete(folder)
  }

  function notice(): void {
    if (!isClosed) timer ??= setTimeout(run, SETTLE_MS)
  }

  async function run(): Promise<void> {
    timer = undefined
    if (isRunning) return notice()
    isRunning = true
    try {
      await changed()
      // What was written there before it was watched would go unseen.
      if (follow()) notice()
    } finally {
      isRunning = false
    }
  }

  follow()
  return {
    started: run(),
    close() {
      isClosed = true
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}
