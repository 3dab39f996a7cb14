import { setTimeout as sleep } from 'node:timers/promises'
import lockfile from 'proper-lockfile'
import { CliError } from '../cli/command/errors.ts'

/** Held for as long as a run writes to a journal. */
export interface JournalLock {
  /** @throws CliError where another run has taken it, as after a long sleep of this machine */
  assertHeld(): void
  release(): Promise<void>
}

/** A lock that was not renewed for so long belongs to a run that crashed. It is renewed every second. */
const STALE_MS = 5_000
const LOOK_EVERY_MS = 250

/**
 * Keeps other runs away from a journal. The lock of a run that crashed is taken over, once it is certain that nobody
 * renews it.
 * @throws CliError where another run is at work
 */
export async function lockJournal(path: string, note: (message: string) => void): Promise<JournalLock> {
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
          if (isLost) throw inUse(path)
        },
        release: async () => {
          if (!isLost) await unlock()
        },
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'ELOCKED') throw error
      if (performance.now() > giveUpAt) throw inUse(path)
    }
    if (!hasNoted) note(`${path} is held by another run; if that one crashed, this one goes on in ${STALE_MS / 1000} s`)
    hasNoted = true
    await sleep(LOOK_EVERY_MS)
  }
}

function inUse(path: string): CliError {
  return new CliError(`Another run is at work on this file: it holds ${path}`, {
    code: 'JOURNAL_IN_USE',
    details: { journal: path },
    hint: 'wait for its end, or stop it with Ctrl-C; then the same command goes on where it was.',
  })
}
