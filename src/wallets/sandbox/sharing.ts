import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { makePrivateFolder, writePrivate } from '../../files/private-file.ts'
import { serveLocally } from './local-server.ts'

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
  /** Starts the emulator. Omitted for a process that only uses the emulator. */
  start?: (() => Promise<Emulator<Addresses>>) | undefined
  onError: (error: unknown) => void
}

const RETRY_MS = 200
/** The number of times that a starting process tries to reach a leader that does not respond. */
const FIRST_TRIES = 5

/** @throws if this process immediately starts the emulator, and the start fails. Later errors go to `onError` */
export async function shareEmulator<Addresses extends object>(
  options: ShareOptions<Addresses>,
): Promise<SharedEmulator<Addresses>> {
  const { folder, name, start, onError } = options
  const claims = createClaims(folder, name)
  const stopped = new AbortController()
  const stop = new Promise<void>((resolve) => stopped.signal.addEventListener('abort', () => resolve()))
  let current: Addresses | undefined
  let closeOwn: () => Promise<void> = async () => undefined

  /**
   * Connects to the leader, or becomes the leader. The returned `ended` resolves when the leader has ended. Returns
   * `undefined` if this process can neither connect nor become the leader.
   */
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
      // Close the leader last, so that the next leader opens the emulator's files only after they are closed here.
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

/** The response of `{publicUrl}/sandbox`: null for a platform that does not use an emulator. */
export interface SandboxDirectory {
  /** `control` is the URL at which phones get push tokens and receive pushes. Phones trust `rootPem`. */
  apple: { control: string; rootPem: string } | null
  google: { url: string } | null
}

interface LeaderElection extends Omit<Claim, 'number'> {
  /** Sends these addresses to all current and later followers. */
  announce(addresses: object): void
  close(): Promise<void>
}

/**
 * The timeout of a request to the leader, in milliseconds. After a timeout, the request is repeated later if
 * the leader's process still exists.
 */
const TIMEOUT_MS = 2_000

/** Listens for followers, which stay connected while this process runs. */
async function openLeader(): Promise<LeaderElection> {
  const id = randomUUID()
  let announce: (addresses: object) => void = () => undefined
  const announced = new Promise<object>((resolve) => {
    announce = resolve
  })
  const server = await serveLocally(async ({ response }) => {
    const addresses = await announced
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    // Keep the response open: the connection shows followers that this process still runs.
    response.write(`${JSON.stringify({ id, addresses })}\n`)
    return undefined
  })
  return { id, pid: process.pid, url: server.url, announce: (addresses) => announce(addresses), close: server.close }
}

interface Watched<Addresses> {
  addresses: Addresses
  /** Resolves when the process of the leader has ended, or the signal is aborted. */
  ended: Promise<void>
}

/**
 * Connects to the leader that made a claim, and stays connected. If the process of the leader ends, even by SIGKILL,
 * the operating system closes the connection.
 */
async function watchLeader<Addresses>(
  claim: Claim,
  signal: AbortSignal,
): Promise<Watched<Addresses> | 'gone' | 'silent'> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), TIMEOUT_MS)
  try {
    const { body } = await request(claim.url, {
      signal: AbortSignal.any([signal, timeout.signal]),
      bodyTimeout: 0,
    })
    const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
    const leader = JSON.parse(await readLine(chunks)) as { id: string; addresses: Addresses }
    if (leader.id === claim.id) return { addresses: leader.addresses, ended: readToEnd(chunks) }
    body.destroy()
    return 'gone'
  } catch {
    // `gone`: the connection failed, or another process now uses the port. `silent`: the process does not respond, but
    // exists (for example, because it is suspended).
    return timeout.signal.aborted && isAlive(claim.pid) ? 'silent' : 'gone'
  } finally {
    clearTimeout(timer)
  }
}

async function readLine(chunks: AsyncIterator<Buffer>): Promise<string> {
  let text = ''
  while (!text.includes('\n')) {
    const { value, done } = await chunks.next()
    if (done) break
    text += value
  }
  return text
}

async function readToEnd(chunks: AsyncIterator<Buffer>): Promise<void> {
  try {
    while (!(await chunks.next()).done);
  } catch {
    // Ignore the error: a broken connection means, like the end of the response, that the process of the leader ended.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // EPERM means that the process exists, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The claim of a leader: a file that is written atomically, with an increasing number. */
interface Claim {
  number: number
  id: string
  pid: number
  /** The URL of the leader for its followers. */
  url: string
}

/**
 * The claims on one platform, as numbered files in a folder that several processes share. The claim with the highest
 * number is valid. If its process has ended, other processes try to create the file with the next number. Only one
 * succeeds, and it removes the files with lower numbers. The file with the highest number is never removed: otherwise,
 * a process could create an old number again, and the old claim would become valid.
 */
interface Claims {
  find(): Promise<Claim | undefined>
  /** Creates the claim that follows `before`. Returns `undefined` if another process created it first. */
  claim(before: Claim | undefined, claim: Omit<Claim, 'number'>): Promise<Claim | undefined>
}

export function createClaims(folder: string, name: string): Claims {
  const pattern = new RegExp(`^${name}-owner-(\\d+)\\.json$`)
  const fileOf = (number: number) => join(folder, `${name}-owner-${number}.json`)

  async function listNumbers(): Promise<number[]> {
    const names = await readdir(folder)
    return names.flatMap((file) => pattern.exec(file)?.[1] ?? []).map(Number)
  }

  async function find(): Promise<Claim | undefined> {
    const number = Math.max(0, ...(await listNumbers()))
    if (number === 0) return undefined
    const text = await readFile(fileOf(number), 'utf8').catch(ignoring('ENOENT'))
    // Search again if the file is gone: another process created a file with a higher number and removed this file.
    return text === undefined ? find() : { ...JSON.parse(text), number }
  }

  return {
    async find() {
      makePrivateFolder(folder)
      return find()
    },
    async claim(before, { id, pid, url }) {
      const number = (before?.number ?? 0) + 1
      const draft = `${fileOf(number)}.${randomUUID()}`
      await writePrivate(draft, JSON.stringify({ id, pid, url }))
      try {
        await link(draft, fileOf(number))
      } catch (error) {
        if (codeOf(error) !== 'EEXIST') throw error
        return undefined
      } finally {
        await rm(draft)
      }
      // Check that this claim has the highest number: a slow process can reuse a number whose file was already
      // removed.
      if ((await find())?.id !== id) return undefined
      const lower = (await listNumbers()).filter((other) => other < number)
      await Promise.all(lower.map((other) => rm(fileOf(other), { force: true })))
      return { number, id, pid, url }
    },
  }
}

function ignoring(code: string): (error: unknown) => undefined {
  return (error) => {
    if (codeOf(error) !== code) throw error
    return undefined
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
