import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { listen } from 'listhen'
import type { Config } from '../config.ts'
import { ListenError } from '../listen-error.ts'
import { type ConnectionsOptions, createConnections } from './connections.ts'

export type Listener = Awaited<ReturnType<typeof startListener>>

/**
 * The time for which a client can read a response that was sent before its whole request arrived. When the server
 * stops, also the time in which an unused connection can send its first request.
 */
const LINGER_MS = 1_000

/** The time after which requests in flight are cut off when the server stops. */
const CUT_OFF_MS = 10_000
const CHECK_IDLE_MS = 100

/** @throws SetupError if the address is taken, or is not an address of this machine */
export async function startListener(
  hostname: string,
  port: number,
  handler: (...args: Parameters<RequestListener>) => unknown,
  options: ConnectionsOptions,
) {
  let isDraining = false
  const connections = createConnections(options)
  const respond = connections.oneAtATime((request, response) => {
    if (isDraining) response.setHeader('connection', 'close')
    lingerOnUnreadBody(request, response)
    return handler(request, response)
  })
  const taken = () => new ListenError({ host: hostname, port }, { code: 'EADDRINUSE' }, '--port or --host')
  const listener = await listen(respond, {
    hostname,
    port,
    isProd: true,
    showURL: false,
    autoClose: false,
  }).catch((error: NodeJS.ErrnoException) => {
    // Another process took the port after the probe. listhen reports this as GetPortError, the operating system as
    // EADDRINUSE.
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
    /** Adds `Connection: close` to responses, so that clients close their connections. Requests are still served. */
    drain(): void {
      isDraining = true
    },
    /** Stops accepting connections, and waits for requests in flight. */
    close(): Promise<void> {
      isDraining = true
      connections.closeHeld()
      closing ??= close(server, connections.closeUnused)
      return closing
    },
  }
}

/**
 * Handles responses that are sent before the whole body arrived, such as 413. Node detaches the socket from such a
 * request, but listhen then reads `request.socket`, and the uncaught error would end the process. Delays the close of
 * the socket by LINGER_MS: closing a socket with unread bytes resets the connection, and the client could lose the
 * response.
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
 * Closes the server when its requests have ended, at the latest after CUT_OFF_MS. Does not use the close of listhen,
 * which destroys new connections immediately: their first request can already be on its way, and a proxy does not retry
 * a POST.
 */
async function close(server: Server, closeUnused: () => void): Promise<void> {
  await quietTurn(server)
  const closed = once(server, 'close')
  server.close()
  const timers = [
    // Close idle connections repeatedly: a response that began before `server.close()` told its client to keep the
    // connection open.
    setInterval(() => server.closeIdleConnections(), CHECK_IDLE_MS),
    setTimeout(closeUnused, LINGER_MS),
    setTimeout(() => server.closeAllConnections(), CUT_OFF_MS),
  ]
  await closed
  for (const timer of timers) clearTimeout(timer)
}

/**
 * Waits until a short turn of the event loop brings no new connection, which means that all connections are accepted.
 * A server that closes resets connections that it has not accepted.
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
 * The maximum duration of a short turn of the event loop, in milliseconds. An idle turn takes 0.01 ms. During a longer
 * turn, another connection could arrive, which would be reset when the server closes.
 */
const SHORT_TURN_MS = 0.05
const MAX_TURNS = 1_000

/** Returns `port`; for 0, a free port. @throws ListenError if `port` is taken: listhen would then use another port */
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
