import { createServer } from 'node:net'

/**
 * The first port of this process. It is below the ports that the system gives to outgoing connections, so that no other
 * program takes a port while its server is stopped. Each process has its own hundred ports, so that two runs do not
 * collide.
 */
const FIRST_PORT = 11_000 + (process.pid % 180) * 100
let given = 0

export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = FIRST_PORT + (given % 100)
    given += 1
    if (await isFree(port)) return port
  }
  throw new Error(`No port from ${FIRST_PORT} to ${FIRST_PORT + 99} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
