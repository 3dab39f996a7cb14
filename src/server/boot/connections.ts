import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { addressKey } from '../http/client-address.ts'

export interface ConnectionsOptions {
  /** The maximum number of connections. Further connections are closed immediately. */
  maxConnections: number
  /** Whether clients connect directly, so that the address of a connection identifies a client. */
  isDirect: boolean
  onRejected(reason: string, address: string): void
  timeouts?: Partial<typeof TIMEOUTS>
}

/** The maximum number of pipelined requests that wait on a connection. Ordinary clients send only a few. */
const MAX_WAITING = 16

/**
 * The number of offenses after which new connections of an address are not served until the count is reset, every
 * OFFENCES_MS. An offense is a connection that was closed because of too many pipelined requests.
 */
const MAX_OFFENCES = 5
const OFFENCES_MS = 10_000

/**
 * The fraction of all connections that can be held without being served. Further connections are closed immediately.
 */
const HELD_PART = 0.1

const TIMEOUTS = {
  headersMs: 10_000,
  /** The timeout of a whole request. A body of 8 MiB takes 70 s at 1 Mbit/s. */
  requestMs: 120_000,
  /** The minimum rate of a request body: this many bytes within this time. */
  bodyBytes: 64 * 1024,
  bodyMs: 10_000,
  /** The time after which a response is dropped if the client has read no byte of it. */
  unreadMs: 20_000,
  /**
   * The time for which the connection of an offender is held open. If it were closed, the client would reconnect
   * immediately, and new connections cost the most.
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

/** The value that Node's own listener returns to the parser if no more HTTP follows. */
const NO_MORE_HTTP = 2

/**
 * Stops the parser of a closed connection. Node would otherwise parse the rest of the data, up to a thousand requests
 * in a packet, and abort each request with an error and its stack, which blocks the event loop for tens of
 * milliseconds.
 */
function skipUnparsed(socket: Socket & { parser?: { onIncoming: () => number } | null }): void {
  if (socket.parser) socket.parser.onIncoming = () => NO_MORE_HTTP
}

/** Limits the number of connections, the pace at which clients send and read, and pipelined requests. */
export function createConnections({ maxConnections, isDirect, onRejected, ...options }: ConnectionsOptions) {
  const timeouts = { ...TIMEOUTS, ...options.timeouts }
  /** Waiting requests of each busy connection. */
  const lines = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>()
  const receiving = new Map<IncomingMessage, Receiving>()
  const byAddress = new Map<string, number>()
  /** The number of offenses by address in the current interval. */
  const offences = new Map<string, number>()
  /** Held connections of offenders, from which nothing is read. */
  const held = new Set<Socket>()
  /** Connections that have sent no request yet. */
  const unused = new Set<Socket>()

  /**
   * Closes a connection. Reports the reason once, because a client can offend repeatedly before the connection is
   * closed.
   */
  function rejectConnection(socket: Socket, reason: string): void {
    if (socket.destroyed) return
    onRejected(reason, socket.remoteAddress ?? 'unknown')
    skipUnparsed(socket)
    socket.destroy()
  }

  /**
   * Wraps a handler so that the pipelined requests of a connection are handled one at a time. By default, Node handles
   * these requests concurrently. While requests wait, nothing more is read from the connection.
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
        return rejectConnection(socket, 'too many requests at once on one connection')
      }
      line.push([request, response])
      // Node resumes reading after each parsed request, so pause afterwards.
      if (line.length === 1) process.nextTick(() => lines.get(socket)?.length && socket.pause())
    }
  }

  /** Closes connections that send a body too slowly, even if the request already has a response. */
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

  /**
   * Whether to serve a connection. One address gets at most half of all connections, so that other clients can connect.
   */
  function admit(socket: Socket): boolean {
    const key = addressKey(socket.remoteAddress ?? 'unknown')
    if ((offences.get(key) ?? 0) >= MAX_OFFENCES) {
      onRejected('connections of this address were recently closed', socket.remoteAddress ?? 'unknown')
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
    if (count > Math.ceil(maxConnections / 2)) rejectConnection(socket, 'too many connections of one address')
    return !socket.destroyed
  }

  return {
    oneAtATime,

    /** Closes held connections, which would keep the server from closing. */
    closeHeld(): void {
      for (const socket of held) socket.destroy()
    },

    /** Closes connections that have sent no request yet. */
    closeUnused(): void {
      for (const socket of unused) socket.destroy()
    },

    /** Applies the limits to the connections of a server. */
    watch(server: Server): void {
      server.maxConnections = maxConnections
      server.on('drop', (dropped) => onRejected('too many connections', dropped?.remoteAddress ?? 'unknown'))
      if (isDirect) {
        // Run `admit` before Node's own listener creates a parser for the connection.
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
      // Each time a client reads a part of a response, the timer is reset. If no data is left to send, keep the
      // connection, because the client waits for a slow handler.
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
      // Node checks timeouts every 30 s by default. listhen does not pass on the option for the interval, so set it
      // now, and emit the event after which Node reads it.
      Object.assign(server, { connectionsCheckingInterval: CHECK_EVERY_MS })
      server.emit('listening')
    },
  }
}
