import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createCounters } from '../admission/counters.ts'
import { addressKey } from '../http/client-address.ts'

export interface ConnectionsOptions {
  /** Further connections are closed immediately. */
  maxConnections: number
  /** Whether clients connect directly, without a proxy. If so, the address of a connection identifies a client. */
  isDirect: boolean
  onRejected(reason: string, address: string): void
  timeouts?: Partial<typeof TIMEOUTS>
}

/** The maximum number of pipelined requests that wait on a connection. Legitimate clients send only a few. */
const MAX_WAITING = 16

/**
 * The number of offenses after which new connections of an address are not served. The counts are reset
 * every OFFENCES_MS. An offense is a connection that the server closed because of too many pipelined requests.
 */
const MAX_OFFENCES = 5
const OFFENCES_MS = 10_000

/**
 * The maximum fraction of connections that are kept open without being read (see `heldMs`). The connections of further
 * offenders are closed immediately.
 */
const HELD_PART = 0.1

const TIMEOUTS = {
  headersMs: 10_000,
  /** The timeout of a whole request. A body of 8 MiB takes 70 s at 1 Mbit/s. */
  requestMs: 120_000,
  /** The minimum rate of a request body: `bodyBytes` in each period of `bodyMs`. */
  bodyBytes: 64 * 1024,
  bodyMs: 10_000,
  /** The time after which a connection is closed if the client reads nothing of its response. */
  unreadMs: 20_000,
  /**
   * The time for which the connection of an offender is held open without being read. If the server closed it, the
   * client would reconnect immediately, and accepting a connection is the most expensive step.
   */
  heldMs: 10_000,
}
const CHECK_EVERY_MS = 500

interface Receiving {
  socket: Socket
  response: ServerResponse
  since: number
  bytesThen: number
}

/** The value that tells Node's HTTP parser that the rest of the data is not HTTP. */
const NO_MORE_HTTP = 2

/**
 * Stops the parser of a closed connection. Otherwise, Node would parse the rest of the received data, which can be a
 * thousand requests, and abort each request with an error and its stack. This would block the event loop for tens of
 * milliseconds.
 */
function skipUnparsed(socket: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => NO_MORE_HTTP
}

/** Creates limits on the number of connections and of pipelined requests, and timeouts for slow clients. */
export function createConnections({ maxConnections, isDirect, onRejected, ...options }: ConnectionsOptions) {
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  /** The waiting pipelined requests of each connection with a request in flight. */
  const lines = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>()
  const receiving = new Map<IncomingMessage, Receiving>()
  const byAddress = createCounters()
  const offences = new Map<string, number>()
  /** The connections that are open but not read, because their address repeatedly sent too many requests at once. */
  const held = new Set<Socket>()
  /** The connections that have not sent a request yet. */
  const unused = new Set<Socket>()

  /** Closes a connection, and reports the reason. Does nothing if the connection is already closed. */
  function rejectConnection(socket: Socket, reason: string): void {
    if (socket.destroyed) return
    onRejected(reason, socket.remoteAddress ?? 'unknown')
    skipUnparsed(socket)
    socket.destroy()
  }

  /**
   * Wraps a handler so that it gets the pipelined requests of a connection one at a time, not concurrently as by
   * default. While requests wait, the server does not read from the connection.
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
      unused.delete(socket)
      const line = lines.get(socket)
      if (!line) {
        lines.set(socket, [])
        return start(request, response)
      }
      if (line.length === MAX_WAITING) {
        if (socket.destroyed) return
        const key = addressKey(socket.remoteAddress ?? 'unknown')
        offences.set(key, (offences.get(key) ?? 0) + 1)
        return rejectConnection(socket, 'too many concurrent requests on one connection')
      }
      line.push([request, response])
      // Pause the socket in the next tick, because Node resumes reading after this request is parsed.
      if (line.length === 1) process.nextTick(() => lines.get(socket)?.length && socket.pause())
    }
  }

  /** Closes connections on which a body arrives too slowly, even if the request already has a response. */
  function checkBodies(): void {
    const now = performance.now()
    for (const [request, state] of receiving) {
      const { socket, response } = state
      if (request.complete || socket.destroyed) {
        receiving.delete(request)
      } else if (now - state.since >= timeouts.bodyMs) {
        if (socket.bytesRead - state.bytesThen < timeouts.bodyBytes) {
          if (!response.headersSent) socket.write('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
          rejectConnection(socket, 'body sent too slowly')
        } else Object.assign(state, { since: now, bytesThen: socket.bytesRead })
      }
    }
  }

  function hold(socket: Socket): void {
    if (held.size >= maxConnections * HELD_PART) return void socket.destroy()
    held.add(socket)
    const destroyTimer = setTimeout(() => socket.destroy(), timeouts.heldMs)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      clearTimeout(destroyTimer)
      held.delete(socket)
    })
  }

  /** Whether to serve a connection. An address gets at most half of the connections, so that others can connect. */
  function admit(socket: Socket): boolean {
    const key = addressKey(socket.remoteAddress ?? 'unknown')
    if ((offences.get(key) ?? 0) >= MAX_OFFENCES) {
      onRejected('connections of this address were recently closed', socket.remoteAddress ?? 'unknown')
      hold(socket)
      return false
    }
    byAddress.add(key, 1)
    socket.once('close', () => byAddress.add(key, -1))
    if (byAddress.of(key) > Math.ceil(maxConnections / 2))
      rejectConnection(socket, 'too many connections of one address')
    return !socket.destroyed
  }

  return {
    oneAtATime,

    /**
     * Closes the connections that are held open without being read, because they would keep the server from closing.
     */
    closeHeld(): void {
      for (const socket of held) socket.destroy()
    },

    /** Closes the connections that have not sent a request yet. */
    closeUnused(): void {
      for (const socket of unused) socket.destroy()
    },

    /** Applies the limits to the connections of a server. */
    watch(server: Server): void {
      server.maxConnections = maxConnections
      server.on('drop', (dropped) => onRejected('too many connections', dropped?.remoteAddress ?? 'unknown'))
      if (isDirect) {
        // Call `admit` before Node's own listeners, so that a rejected connection gets no HTTP parser.
        const listeners = server.listeners('connection')
        server.removeAllListeners('connection')
        server.on('connection', (socket) => {
          if (admit(socket)) for (const listener of listeners) listener.call(server, socket)
        })
      }
      server.on('connection', (socket) => {
        unused.add(socket)
        socket.once('close', () => unused.delete(socket))
      })
      server.headersTimeout = timeouts.headersMs
      server.requestTimeout = timeouts.requestMs
      // Node resets this timer each time a client reads a part of a response. Keep a connection without data to send,
      // because its client waits for a slow handler.
      server.setTimeout(timeouts.unreadMs, (socket) => {
        if (lines.has(socket) && socket.writableLength === 0) return
        if (lines.has(socket)) onRejected('response not read', socket.remoteAddress ?? 'unknown')
        socket.destroy()
      })
      const checking = setInterval(checkBodies, CHECK_EVERY_MS).unref()
      const forgetting = setInterval(() => offences.clear(), OFFENCES_MS).unref()
      server.once('close', () => {
        clearInterval(checking)
        clearInterval(forgetting)
      })
      // By default, Node checks timeouts only every 30 s. listhen does not pass on the option for this interval. Set
      // the interval here, and emit the event at which Node reads it.
      Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS })
      server.emit('listening')
    },
  }
}
