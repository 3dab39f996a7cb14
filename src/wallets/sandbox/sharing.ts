import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ifMissing, makePrivateFolder, replacePrivateSync } from '../../files/private-file.ts'

/**
 * An emulator that several processes share by using the same folder. One process is the leader and runs the emulator.
 * When the leader ends, another process takes over (decisions/0027).
 */
export interface SharedEmulator<Addresses> {
  find(): Addresses | undefined
  close(): Promise<void>
}

export interface Emulator<Addresses> {
  addresses: Addresses
  close(): Promise<void>
}

export interface ShareOptions<Addresses> {
  folder: string
  name: string
  /**
   * Takes the lock of a file, which only one process can hold. Returns a function that releases the lock, or
   * `undefined` if the lock is taken. The system must release the lock of a process that ends.
   */
  takeLock: (path: string) => Promise<(() => Promise<void>) | undefined>
  /** Starts the emulator. Omitted for a process that only uses the emulator. */
  start?: (() => Promise<Emulator<Addresses>>) | undefined
  onError: (error: unknown) => void
}

const RETRY_MS = 200
/** The time for which a starting process waits for a leader that is starting, too. */
const FIRST_WAIT_MS = 10_000

/**
 * @throws if the folder, the lock, or the addresses cannot be used, or if this process immediately starts the emulator,
 * and the start fails. Later errors go to `onError`
 */
export async function shareEmulator<Addresses extends object>(
  options: ShareOptions<Addresses>,
): Promise<SharedEmulator<Addresses>> {
  const { folder, name, takeLock, start, onError } = options
  /** The file with the addresses of the leader. */
  const file = join(folder, `${name}-leader.json`)
  const stopped = new AbortController()
  let current: Addresses | undefined
  let closeOwn: (() => Promise<void>) | undefined

  /** Becomes the leader, or finds the addresses of the leader. */
  async function seek(): Promise<void> {
    makePrivateFolder(folder)
    const release = start || existsSync(file) ? await takeLock(`${file}.lock`) : undefined
    if (!release) {
      current = readAddresses(file)
      return
    }
    current = undefined
    try {
      // Remove the addresses of the previous leader, which has ended. Otherwise, processes would read them while the lock
      // is taken.
      rmSync(file, { force: true })
      if (!start) return
      const { addresses, close } = await start()
      try {
        replacePrivateSync(file, JSON.stringify(addresses))
      } catch (error) {
        await close()
        throw error
      }
      closeOwn = async () => {
        await close()
        rmSync(file, { force: true })
        // Release the lock last, so that the next leader opens the emulator's files only after they are closed here.
        await release()
      }
      current = addresses
    } finally {
      if (!closeOwn) await release()
    }
  }

  async function keepSeeking(): Promise<void> {
    let reported: unknown
    while (!closeOwn && !stopped.signal.aborted) {
      // Ignore the abort error: the loop condition ends the loop.
      await sleep(RETRY_MS, undefined, { signal: stopped.signal }).catch(() => undefined)
      if (stopped.signal.aborted) return
      await seek().catch((error) => {
        // Report a lasting error once, although each attempt fails.
        if (String(error) !== reported) onError(error)
        reported = String(error)
      })
    }
  }

  await seek()
  const deadline = performance.now() + FIRST_WAIT_MS
  while (start && !current && performance.now() < deadline) {
    await sleep(RETRY_MS)
    await seek()
  }
  const running = keepSeeking()
  return {
    find: () => current,
    async close() {
      stopped.abort()
      await running
      current = undefined
      const close = closeOwn
      closeOwn = undefined
      await close?.()
    },
  }
}

/** Returns `undefined` if no process leads, or if the leader is starting. */
function readAddresses<Addresses>(file: string): Addresses | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    return ifMissing(undefined)(error)
  }
}

/** The response of `{publicUrl}/sandbox`: null for a platform that does not use an emulator. */
export interface SandboxDirectory {
  /** `control` is the URL at which phones get push tokens and receive pushes. Phones trust `rootPem`. */
  apple: { control: string; rootPem: string } | null
  google: { url: string } | null
}
