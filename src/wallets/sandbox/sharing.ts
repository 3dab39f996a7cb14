import { setTimeout as sleep } from 'node:timers/promises'
import { type Claim, createClaims, openLeader, watchLeader } from './leader-election.ts'

/** An emulator that one process of a folder runs. Another takes over when it ends (decisions/0027). */
export interface SharedEmulator<Addresses> {
  /** Returns the current addresses of the emulator, or `undefined` if no process runs it. */
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
  /** Starts the emulator. Absent for a process that only uses it and never leads. */
  start?: (() => Promise<Emulator<Addresses>>) | undefined
  /** Receives the errors that prevent this process from taking over. It keeps trying. */
  onError: (error: unknown) => void
}

const RETRY_MS = 200
/** The number of attempts of a starting process to reach a leader that does not respond. */
const FIRST_TRIES = 5

/**
 * Leads and runs the emulator, or follows the process that does and waits for its end.
 * @throws the error that prevents this process from starting the emulator at its own start; later errors go to
 * `onError`
 */
export async function shareEmulator<Addresses extends object>(
  options: ShareOptions<Addresses>,
): Promise<SharedEmulator<Addresses>> {
  const { folder, name, start, onError } = options
  const claims = createClaims(folder, name)
  const stopped = new AbortController()
  const stop = new Promise<void>((resolve) => stopped.signal.addEventListener('abort', () => resolve()))
  let current: Addresses | undefined
  let closeOwn: () => Promise<void> = async () => undefined

  /** Follows the leader, or becomes it. Resolves with a promise of its end, or to `undefined` if neither worked. */
  async function seek(): Promise<{ ended: Promise<void> } | undefined> {
    const claim = await claims.find()
    const watched = claim ? await watchLeader<Addresses>(claim, stopped.signal) : 'gone'
    if (stopped.signal.aborted) return undefined
    if (typeof watched === 'object') {
      current = watched.addresses
      return watched
    }
    return watched === 'gone' && start ? takeOver(start, claim) : undefined
  }

  async function takeOver(startEmulator: () => Promise<Emulator<Addresses>>, before: Claim | undefined) {
    const leader = await openLeader()
    let emulator: Emulator<Addresses>
    try {
      if (!(await claims.claim(before, leader))) {
        await leader.close()
        return undefined
      }
      emulator = await startEmulator()
    } catch (error) {
      await leader.close()
      throw error
    }
    current = emulator.addresses
    leader.announce(emulator.addresses)
    closeOwn = async () => {
      await emulator.close()
      // Last, so that the next leader finds the files of the emulator closed.
      await leader.close()
    }
    return { ended: stop }
  }

  async function keepOn(first: { ended: Promise<void> } | undefined): Promise<void> {
    let holds = first
    while (!stopped.signal.aborted) {
      await (holds ? holds.ended : sleep(RETRY_MS, undefined, { signal: stopped.signal }).catch(() => undefined))
      current = undefined
      if (stopped.signal.aborted) return
      holds = await seek().catch((error) => {
        onError(error)
        return undefined
      })
    }
  }

  let first = await seek()
  for (let tries = 1; start && !first && tries < FIRST_TRIES; tries += 1) {
    await sleep(RETRY_MS)
    first = await seek()
  }
  const running = keepOn(first)
  return {
    find: () => current,
    async close() {
      stopped.abort()
      await running
      await closeOwn()
    },
  }
}

/**
 * The addresses of a server's emulators, which it serves at `{publicUrl}/sandbox` while a platform is sandboxed.
 * Virtual phones start from there. A platform that is real, or not configured, is null.
 */
export interface SandboxDirectory {
  /** `control` is where phones get push tokens and receive pushes. They trust `rootPem`. */
  apple: { control: string; rootPem: string } | null
  google: { url: string } | null
}
