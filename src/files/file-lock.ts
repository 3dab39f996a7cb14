import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makePrivateFolder } from './private-file.ts'

/** Held for as long as a run writes to a file. */
export interface FileLock {
  /** @throws FileInUseError where another run has taken it, as after a long sleep of this machine */
  assertHeld(): void
  release(): Promise<void>
}

/** Another run of the program writes to a file. */
export class FileInUseError extends Error {
  override readonly name = 'FileInUseError'
  readonly path: string

  constructor(path: string) {
    super(`Another run is at work on this file: it holds ${path}`)
    this.path = path
  }
}

/** A lock that was not renewed for so long belongs to a run that crashed. It is renewed every second. */
const STALE_MS = 5_000
const LOOK_EVERY_MS = 250

/**
 * Keeps other runs away from a file, for as long as this one takes. The lock of a run that crashed is taken over, once it
 * is certain that nobody renews it: it waits up to 6 s for that, and says so with `note`.
 * @throws FileInUseError where another run is at work
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
  const giveUpAt = performance.now() + STALE_MS + 1_000
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
      if (performance.now() > giveUpAt) throw new FileInUseError(path)
    }
    if (!hasNoted) note(`${path} is held by another run; if that one crashed, this one goes on in ${STALE_MS / 1000} s`)
    hasNoted = true
    await sleep(LOOK_EVERY_MS)
  }
}

/**
 * Opens what is written to under the lock of a file; what cannot be opened leaves no lock behind.
 * @throws FileInUseError as lockFile, and whatever `open` throws
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

/** For `underLock`: a change takes milliseconds, so tries again after 20 to 100 ms, 100 times. */
const RETRIES = { retries: 100, minTimeout: 20, maxTimeout: 100 }

/**
 * Changes a private file, so that of two programs that change it at once each finds what the other wrote.
 * @throws the error of the lock (`ELOCKED`) where another holds it for about 10 s
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
