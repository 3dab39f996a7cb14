import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { listen } from 'listhen'
import type { Config } from '../config.ts'
import { ListenError } from '../listen-error.ts'
import { type ConnectionsOptions, createConnections } from './connections.ts'

export interface Listener {
  /** Continues to serve requests, and asks clients to close their connections. */
  drain(): void
  /** Stops accepting connections, and waits for requests in flight. */
  close(): Promise<void>
}

/**
 * The time for a client to read a response that was sent before the whole request arrived. When the server stops, also
 * the time for an unused connection to send its first request.
 */
const LINGER_MS = 1_000

/** The time for requests in flight to finish when the server stops. */
const CUT_OFF_MS = 10_000
const CHECK_IDLE_MS = 100

/** Listens for HTTP. @throws SetupError if the address is taken, or not one of this machine */
export async function startListener(
  hostname: string,
  port: number,
  handler: (...args: Parameters<RequestListener>) => unknown,
  options: ConnectionsOptions,
): Promise<Listener> {
  let isDraining = false
  const connections = createConnections(options)
  const respond = connections.oneAtATime((request, response) => {
    if (isDraining) response.setHeader('connection', 'close')
    lingerOnUnreadBody(request, response)
    return handler(request, response)
  })
  const taken = () => new ListenError({ host: hostname, port }, { code: 'EADDRINUSE' }, '--port or --host')
  const listener = await listen(respond as Parameters<typeof listen>[0], {
    hostname,
    port,
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch((error: NodeJS.ErrnoException) => {
    // Both errors mean that another process took the port after the probe. The first one is of listhen, the second one
    // of the operating system.
    throw error.name === 'GetPortError' || error.code === 'EADDRINUSE' ? taken() : error
  })
  if ((listener.server.address() as AddressInfo).port !== port) {
    await listener.close()
    throw taken()
  }
  const server = listener.server as Server
  connections.watch(server)
  let closing: Promise<void> | undefined
  return {
    drain() {
      isDraining = true
    },
    close() {
      isDraining = true
      connections.closeHeld()
      closing ??= close(server, connections.closeUnused)
      return closing
    },
  }
}

/**
 * Handles responses that are sent before the whole body arrived, such as 413. Node detaches the socket from such a
 * request, but listhen reads `request.socket` after the response, and the uncaught error would end the process. A
 * socket that is closed with unread bytes is reset, and the client can lose the response, so the client first gets
 * LINGER_MS to read it.
 */
function lingerOnUnreadBody(...[request, response]: Parameters<RequestListener>): void {
  const { socket } = request
  response.prependListener('finish', () => {
    request.socket ??= socket
    if (request.complete) return
    socket.destroySoon = () => {
      socket.end()
      setTimeout(() => socket.destroy(), LINGER_MS)
    }
  })
}

/**
 * Closes the server when its requests have ended, and cuts off requests that take longer than CUT_OFF_MS. Do not use
 * the close of listhen, which also destroys connections that were just accepted. Their first request may already be on
 * its way, and if it is a POST, a proxy does not send it again.
 */
async function close(server: Server, closeUnused: () => void): Promise<void> {
  await quietTurn(server)
  const closed = once(server, 'close')
  server.close()
  const timers = [
    // Close idle connections repeatedly, because responses that began before the close told their clients to keep the
    // connection.
    setInterval(() => server.closeIdleConnections(), CHECK_IDLE_MS),
    setTimeout(closeUnused, LINGER_MS),
    setTimeout(() => server.closeAllConnections(), CUT_OFF_MS),
  ]
  await closed
  for (const timer of timers) clearTimeout(timer)
}

/**
 * Waits for one short turn of the event loop without a new connection, after which all waiting connections have been
 * accepted. When the server closes, the operating system resets the connections that were not accepted yet.
 */
async function quietTurn(server: Server): Promise<void> {
  let hasConnection = false
  const onConnection = () => {
    hasConnection = true
  }
  server.on('connection', onConnection)
  for (let turns = 0; turns < MAX_TURNS; turns += 1) {
    hasConnection = false
    const beganAt = performance.now()
    await setImmediate()
    if (!hasConnection && performance.now() - beganAt < SHORT_TURN_MS) break
  }
  server.off('connection', onConnection)
}

/**
 * The maximum duration of a short turn, in milliseconds. An idle turn takes 0.01 ms. The value is low, because a
 * connection that arrives during the last turn is reset when the server closes.
 */
const SHORT_TURN_MS = 0.05
const MAX_TURNS = 1_000

/** Probes the port: listhen silently uses another port if this one is taken. */
export async function choosePort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
    return (probe.address() as { port: number }).port
  } catch (error) {
    throw new ListenError({ host, port }, error, '--port or --host')
  } finally {
    probe.close()
  }
}

export function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
