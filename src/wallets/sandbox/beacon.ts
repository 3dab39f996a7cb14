import { randomUUID } from 'node:crypto'
import { request } from 'undici'
import type { Claim } from './claims.ts'
import { serveLocally } from './local-server.ts'

/** What a claim points at: answers for as long as its process lives. */
export interface LeaderElection extends Omit<Claim, 'number'> {
  /** Answers everyone who asks, now and later, with these addresses. */
  announce(addresses: object): void
  close(): Promise<void>
}

/** A process that is there and says nothing in that time is asked again. */
const PATIENCE_MS = 2_000

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
