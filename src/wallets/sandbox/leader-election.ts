import { randomUUID } from 'node:crypto'
import { link, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { makePrivateFolder, writePrivate } from '../../files/private-file.ts'
import { serveLocally } from './local-server.ts'

/** What a claim points at: answers for as long as its process lives. */
export interface LeaderElection extends Omit<Claim, 'number'> {
  /** Answers everyone who asks, now and later, with these addresses. */
  announce(addresses: object): void
  close(): Promise<void>
}

/** A process that is there and says nothing in that time is asked again. */
const PATIENCE_MS = 2_000

/** Leads: answers others for as long as this process lives. */
export async function openLeader(): Promise<LeaderElection> {
  const id = randomUUID()
  let announce: (addresses: object) => void = () => undefined
  const announced = new Promise<object>((resolve) => {
    announce = resolve
  })
  const server = await serveLocally(async ({ response }) => {
    const addresses = await announced
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    // Never ended: the connection says that this process lives.
    response.write(`${JSON.stringify({ id, addresses })}\n`)
    return undefined
  })
  return { id, pid: process.pid, url: server.url, announce: (addresses) => announce(addresses), close: server.close }
}

/** A leader that this process follows. */
export interface Watched<Addresses> {
  addresses: Addresses
  /** Resolves when the process is gone, or the signal aborts. */
  ended: Promise<void>
}

/** Asks the process behind a claim, and stays connected: also after SIGKILL the system closes the connection. */
export async function watchLeader<Addresses>(
  claim: Claim,
  signal: AbortSignal,
): Promise<Watched<Addresses> | 'gone' | 'silent'> {
  const patience = new AbortController()
  const timer = setTimeout(() => patience.abort(), PATIENCE_MS)
  try {
    const { body } = await request(claim.url, {
      signal: AbortSignal.any([signal, patience.signal]),
      bodyTimeout: 0,
    })
    const chunks: AsyncIterator<Buffer> = body[Symbol.asyncIterator]()
    const said = JSON.parse(await readLine(chunks)) as { id: string; addresses: Addresses }
    if (said.id === claim.id) return { addresses: said.addresses, ended: readToEnd(chunks) }
    body.destroy()
    return 'gone'
  } catch {
    // No connection, or a stranger that has its port by now. One that is only stopped for a while still has its process.
    return patience.signal.aborted && isAlive(claim.pid) ? 'silent' : 'gone'
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
    // Cut off: the end all the same.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Somebody else's process may not be asked.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Says who leads. A file that appears whole, and whose number only grows. */
export interface Claim {
  number: number
  id: string
  /** The process that made it. */
  pid: number
  /** Where that process answers for as long as it lives. */
  url: string
}

/**
 * Claims on one platform, as numbered files of a folder that several processes share: the highest one holds. Whoever finds
 * it dead makes the next number, which only one can, and removes the lower ones. The highest file is never removed, so
 * that a number which was found dead long ago cannot be made anew and hold.
 */
export interface Claims {
  /** The one that holds. */
  find(): Promise<Claim | undefined>
  /** Makes the claim after `before`; undefined where somebody else was quicker. */
  claim(before: Claim | undefined, claim: Omit<Claim, 'number'>): Promise<Claim | undefined>
}

/** The claims to an emulator in a shared folder (decisions/0027): see Claims. */
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
    // Removed since: somebody made a higher one.
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
      // The number may have been free again, its holder dead and replaced.
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
