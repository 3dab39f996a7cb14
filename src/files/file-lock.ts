import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder } from './private-file.ts'

export interface FileLock {
  /** Checks the lock. @throws FileInUseError if another run took over the lock, for example after this machine slept */
  assertHeld(): void
  release(): Promise<void>
}

export class FileInUseError extends Error {
  override readonly name = 'FileInUseError'
  readonly path: string

  constructor(path: string) {
    super(`Another run is using this file (lock: ${path})`)
    this.path = path
  }
}

/** The age at which a lock is stale, in milliseconds. A run renews its lock every second. */
const STALE_MS = 5_000
const RETRY_MS = 250

/**
 * Locks a file until `release` is called. If the file is locked, waits up to 6 s to find out whether another run renews
 * the lock, and reports the wait with `note`. Takes over a lock that no run renews.
 * @throws FileInUseError if another run holds the lock
 */
export async function lockFile(path: string, note: (message: string) => void): Promise<FileLock> {
  const { default: lockfile } = await import('proper-lockfile')
  let isLost = false
  const take = () =>
    lockfile.lock(path, {
      realpath: false,
      stale: STALE_MS,
      update: 1_000,
      onCompromised: () => {
        isLost = true
      },
    })
  const deadline = performance.now() + STALE_MS + 1_000
  let hasNoted = false
  for (;;) {
    try {
      const unlock = await take()
      return {
        assertHeld: () => {
          if (isLost) throw new FileInUseError(path)
        },
        release: async () => {
          if (!isLost) await unlock()
        },
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'ELOCKED') throw error
      if (performance.now() > deadline) throw new FileInUseError(path)
    }
    if (!hasNoted)
      note(`${path} is locked by another run. If that run crashed, this one continues in ${STALE_MS / 1000} s.`)
    hasNoted = true
    await sleep(RETRY_MS)
  }
}

/**
 * Locks a file and opens it. Releases the lock if `open` fails. @throws the errors of `lockFile` and `open`
 */
export async function openUnderLock<T>(
  path: string,
  note: (message: string) => void,
  open: (lock: FileLock) => Promise<T>,
): Promise<T> {
  const lock = await lockFile(path, note)
  try {
    return await open(lock)
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** The retries of `underLock`: 100 retries after 20 to 100 ms each. A change holds the lock for milliseconds. */
const RETRIES = { retries: 100, minTimeout: 20, maxTimeout: 100 }

/**
 * Changes a private file under a lock, so that concurrent programs do not overwrite each other's changes.
 * @throws the error of the lock (`ELOCKED`) if another program holds it for about 10 s
 */
export async function underLock<T>(path: string, change: () => T): Promise<T> {
  makePrivateFolder(dirname(path))
  const { default: lockfile } = await import('proper-lockfile')
  const unlock = await lockfile.lock(path, { realpath: false, stale: STALE_MS, retries: RETRIES })
  try {
    return change()
  } finally {
    await unlock()
  }
}
