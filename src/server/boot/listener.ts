import { once } from 'node:events'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Listener as Listhen, listen } from 'listhen'
import type { Config } from '../config.ts'
import { addressKey } from '../http/client-address.ts'
import { ListenError } from '../listen-error.ts'

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

/**
 * Listens for HTTP.
 * @throws SetupError where the address is taken or not of this machine
 */
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
    isTest: false,
    showURL: false,
    autoClose: false,
    qr: false,
    publicURL: '',
  }).catch((error: NodeJS.ErrnoException) => {
    // Somebody else took it since it was tried: listhen finds so before it listens, or the system as it does.
    throw error.name === 'GetPortError' || error.code === 'EADDRINUSE' ? taken() : error
  })
  if ((listener.server.address() as AddressInfo).port !== port) {
    await listener.close()
    throw taken()
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

/** What one connection, one address and all of them may hold of the server. */
export interface ConnectionsOptions {
  /** Connections at once; more are closed as they come. */
  maxConnections: number
  /** Whether a client's address is that of its connection, so that one of them can be told from many. */
  isDirect: boolean
  /** Told of each connection that is closed on a client. */
  onRefused(reason: string, address: string): void
  /** For tests, which wait for them. */
  patience?: Partial<typeof PATIENCE>
}

/** Requests that may wait behind the one that is answered. Honest clients that pipeline at all send a handful. */
const MAX_WAITING = 16

/** Connections of one address that are closed for pipelining, in so long; then its new ones are not served. */
const MAX_OFFENCES = 5
const OFFENCES_MS = 10_000

/** The part of all connections that may be held so; more are closed as they come. */
const HELD_PART = 0.1

/** How long clients may take. */
const PATIENCE = {
  headersMs: 10_000,
  /** For a request in all: 8 MiB at 1 Mbit/s take 70 s. */
  requestMs: 120_000,
  /** As long as a body comes, at least so much of it comes in so long. */
  bodyBytes: 64 * 1024,
  bodyMs: 10_000,
  /** An answer of which nothing was read for so long is not waited for. */
  unreadMs: 20_000,
  /** Who would only come again at once is kept waiting: opening connections costs the most of what such a client does. */
  heldMs: 10_000,
}
const CHECK_EVERY_MS = 500

interface Receiving {
  socket: Socket
  response: ServerResponse
  since: number
  bytesThen: number
}

/** What Node's own listener of its parser returns where no HTTP follows. */
const NO_MORE_HTTP = 2

/**
 * Node would parse the rest of what it has read of a closed connection, a thousand requests in a packet, and then abort each
 * with an error and its stack: that holds up everybody for tens of milliseconds.
 */
function skipUnparsed(socket: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => NO_MORE_HTTP
}

/** Bounds what connections hold: requests at once, time and memory. */
function createConnections({ maxConnections, isDirect, onRefused, ...options }: ConnectionsOptions) {
  const patience = { ...PATIENCE, ...options.patience }
  /** Requests that wait for their turn, of each connection that is busy. */
  const lines = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>()
  const receiving = new Map<IncomingMessage, Receiving>()
  const byAddress = new Map<string, number>()
  /** By address, in the present stretch of time: what was parsed of such a connection has cost its milliseconds already. */
  const offences = new Map<string, number>()
  /** Connections of such addresses, none of which is read. */
  const held = new Set<Socket>()

  /** Once: a connection may offend more than once before it is closed. */
  function refuse(socket: Socket, reason: string): void {
    if (socket.destroyed) return
    onRefused(reason, socket.remoteAddress ?? 'unknown')
    skipUnparsed(socket)
    socket.destroy()
  }

  /**
   * Node parses whatever a client has sent and calls for every request at once, however many they are. Here a connection
   * has one in work; the others wait, and while some wait nothing more is read.
   */
  function oneAtATime(handler: RequestListener): RequestListener {
    const start = (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request
      response.once('close', () => next(socket))
      if ('content-length' in request.headers || 'transfer-encoding' in request.headers) {
        receiving.set(request, { socket, response, since: performance.now(), bytesThen: socket.bytesRead })
      }
      handler(request, response)
    }
    const next = (socket: Socket) => {
      const line = lines.get(socket)
      const following = socket.destroyed ? undefined : line?.shift()
      if (!following) lines.delete(socket)
      else start(...following)
      if (!line?.length && !socket.destroyed) socket.resume()
    }
    return (request, response) => {
      const { socket } = request
      const line = lines.get(socket)
      if (!line) {
        lines.set(socket, [])
        return start(request, response)
      }
      if (line.length === MAX_WAITING) {
        if (socket.destroyed) return
        const key = addressKey(socket.remoteAddress ?? 'unknown')
        offences.set(key, (offences.get(key) ?? 0) + 1)
        return refuse(socket, 'too many requests at once on one connection')
      }
      line.push([request, response])
      // Node reads on after each request of what it has parsed: afterwards is the time to stop.
      if (line.length === 1) process.nextTick(() => lines.get(socket)?.length && socket.pause())
    }
  }

  /** Closes what sends too slowly, also the rest of a body that was answered before: each holds a connection. */
  function checkBodies(): void {
    const now = performance.now()
    for (const [request, state] of receiving) {
      const { socket, response } = state
      if (request.complete || socket.destroyed) {
        receiving.delete(request)
      } else if (now - state.since >= patience.bodyMs) {
        if (socket.bytesRead - state.bytesThen < patience.bodyBytes) {
          if (!response.headersSent) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
          refuse(socket, 'body sent too slowly')
        } else Object.assign(state, { since: now, bytesThen: socket.bytesRead })
      }
    }
  }

  function hold(socket: Socket): void {
    if (held.size >= maxConnections * HELD_PART) return void socket.destroy()
    held.add(socket)
    const letGo = setTimeout(() => socket.destroy(), patience.heldMs)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(letGo)
      held.delete(socket)
    })
  }

  /** Whether a connection is to be served. Half of all are for one address: another client always finds room. */
  function admit(socket: Socket): boolean {
    const key = addressKey(socket.remoteAddress ?? 'unknown')
    if ((offences.get(key) ?? 0) >= MAX_OFFENCES) {
      onRefused('address of connections that were closed just now', socket.remoteAddress ?? 'unknown')
      hold(socket)
      return false
    }
    const count = (byAddress.get(key) ?? 0) + 1
    byAddress.set(key, count)
    socket.once('close', () => {
      const left = byAddress.get(key)! - 1
      if (left > 0) byAddress.set(key, left)
      else byAddress.delete(key)
    })
    if (count > Math.ceil(maxConnections / 2)) refuse(socket, 'too many connections of one address')
    return !socket.destroyed
  }

  return {
    oneAtATime,

    /** Those that are held would keep the server from closing. */
    letGo(): void {
      for (const socket of held) socket.destroy()
    },

    /** Sets what Node itself can bound. */
    watch(server: Server): void {
      server.maxConnections = maxConnections
      server.on('drop', (dropped) => onRefused('too many connections', dropped?.remoteAddress ?? 'unknown'))
      if (isDirect) {
        // Before Node makes a parser for it.
        const listeners = server.listeners('connection')
        server.removeAllListeners('connection')
        server.on('connection', (socket) => {
          if (admit(socket)) for (const listener of listeners) listener.call(server, socket)
        })
      }
      server.headersTimeout = patience.headersMs
      server.requestTimeout = patience.requestMs
      // Whatever is read of an answer counts as life. A handler that takes its time, with all sent before, is no fault.
      server.setTimeout(patience.unreadMs, (socket) => {
        if (lines.has(socket) && socket.writableLength === 0) return
        if (lines.has(socket)) onRefused('answer not read', socket.remoteAddress ?? 'unknown')
        socket.destroy()
      })
      const checking = setInterval(checkBodies, CHECK_EVERY_MS).unref()
      const forgetting = setInterval(() => offences.clear(), OFFENCES_MS).unref()
      server.once('close', () => {
        clearInterval(checking)
        clearInterval(forgetting)
      })
      // Node looks each 30 s for what takes too long. How often is an option of createServer that listhen does not pass
      // on, and that is read when a server begins to listen.
      Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS })
      server.emit('listening')
    },
  }
}
