import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { type Listener as Listhen, listen } from 'listhen'
import type { Config } from './config.ts'
import { type ConnectionsOptions, createConnections } from './connections.ts'
import { ListenError } from './listen-error.ts'

/** Where requests come in. */
export interface Listener {
  /** Goes on answering, and asks clients to come on no connection again. */
  drain(): void
  /** No new connections; what is in flight is answered first. */
  close(): Promise<void>
}

/** Who is answered before the whole request was sent has so long to read it. */
const LINGER_MS = 1_000

/** Requests in flight at the end have so long to finish. */
const CUT_OFF_MS = 10_000

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
  const listener = await listen(respond as Parameters<typeof listen>[0], {
    hostname,
    port,
    isProd: true,
    isTest: false,
    showURL: false,
    autoClose: false,
    qr: false,
    publicURL: '',
  })
  if ((listener.server.address() as AddressInfo).port !== port) {
    await listener.close()
    throw new ListenError({ host: hostname, port }, { code: 'EADDRINUSE' }, '--port or --host')
  }
  connections.watch(listener.server as Server)
  return {
    drain() {
      isDraining = true
    },
    close: () => {
      connections.letGo()
      return close(listener)
    },
  }
}

/**
 * A request may be answered before its body has come, one that is too large. Node then takes the socket from the request,
 * and listhen looks for it there when the answer is out: an uncaught error, the end of the process. And a socket that is
 * closed over bytes that nobody read is reset, so that the client may lose the answer: it gets a moment to read it.
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

/** A client that is still sending its request after a while is cut off. */
async function close(listener: Listhen): Promise<void> {
  const cutOff = setTimeout(() => (listener.server as Server).closeAllConnections(), CUT_OFF_MS)
  await listener.close()
  clearTimeout(cutOff)
}

/** listhen moves to another port without a word where one is taken, so the port is tried first. */
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

/** The host of an address that this machine reaches the server by. */
export function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}
