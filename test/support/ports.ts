import { createServer, type Server } from 'node:net'

/** The ports of a process: the first reserves the block, and the others are given to servers. */
const BLOCK = 100
const BLOCKS = 180

/** The first port of all blocks. All of them are below the ports that the system gives to outgoing connections. */
const FIRST_PORT = 11_000

let block: Promise<number> | undefined
let given = 0

/** Returns a port that no other program takes while its server is stopped, and that no other run on this machine gets. */
export async function freePort(): Promise<number> {
  block ??= reserveBlock()
  const first = await block
  for (let tries = 1; tries < BLOCK; tries += 1) {
    given = (given % (BLOCK - 1)) + 1
    const port = first + given
    const probe = await listen(port)
    if (!probe) continue
    await new Promise((resolve) => probe.close(resolve))
    return port
  }
  throw new Error(`No port from ${first + 1} to ${first + BLOCK - 1} is free`)
}

/** Listens on the first port of a block until this process ends, so that no other process uses the block. */
async function reserveBlock(): Promise<number> {
  for (let tries = 0; tries < BLOCKS; tries += 1) {
    const first = FIRST_PORT + ((process.pid + tries) % BLOCKS) * BLOCK
    const reservation = await listen(first)
    if (!reservation) continue
    reservation.unref()
    return first
  }
  throw new Error('All blocks of ports are in use')
}

/** Listens on a port; `undefined` if another server does. */
function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(undefined))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
