import diagnostics from 'node:diagnostics_channel'
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import http2, { type ServerHttp2Stream } from 'node:http2'
import { syncBuiltinESMExports } from 'node:module'

/** A request and its response, as the server received and sent them. */
export interface Exchange {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: Buffer
  status: number
  answerHeaders: Record<string, unknown>
  answer: Buffer
}

/**
 * Starts to record the requests and responses of every HTTP server in this process: the passes server, and the
 * emulators of APNs and Google. Call it before the modules of the servers are loaded.
 */
export function startRecording() {
  const exchanges: Exchange[] = []
  const seen: string[] = []
  const begin = (method: string, path: string, headers: IncomingHttpHeaders): Exchange => {
    const exchange = { method, path, headers, body: EMPTY, status: 0, answerHeaders: {}, answer: EMPTY }
    seen.push(`${method} ${path}`)
    return exchange
  }
  diagnostics.subscribe('http.server.request.start', (message) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse }
    const exchange = begin(request.method!, request.url!, request.headers)
    recordHttp(exchange, request, response)
    response.once('close', () => exchanges.push(exchange))
  })
  const createSecureServer = http2.createSecureServer
  http2.createSecureServer = ((...args: Parameters<typeof createSecureServer>) => {
    const server = createSecureServer(...args)
    server.on('stream', (stream, headers) => {
      const exchange = begin(String(headers[':method']), String(headers[':path']), headers)
      recordStream(exchange, stream)
      stream.once('close', () => exchanges.push(exchange))
    })
    return server
  }) as typeof createSecureServer
  syncBuiltinESMExports()
  return {
    /** Returns the exchanges since the last call, in the order of their responses. */
    take: () => exchanges.splice(0),
    hasSeen: (pattern: RegExp) => seen.some((line) => pattern.test(line)),
  }
}

const EMPTY = Buffer.alloc(0)

function recordHttp(exchange: Exchange, request: IncomingMessage, response: ServerResponse): void {
  // Wrap `push` instead of adding a listener, which would start the flow of data before the reader of the request is
  // attached.
  const push = request.push.bind(request)
  request.push = (chunk: Buffer | null, encoding) => {
    if (chunk) exchange.body = Buffer.concat([exchange.body, chunk])
    return push(chunk, encoding)
  }
  for (const name of ['write', 'end'] as const) {
    const original = response[name].bind(response) as (...args: unknown[]) => never
    response[name] = ((chunk: unknown, ...rest: unknown[]) => {
      if (chunk instanceof Uint8Array || typeof chunk === 'string') {
        exchange.answer = Buffer.concat([exchange.answer, Buffer.from(chunk as Uint8Array)])
      }
      return original(chunk, ...rest)
    }) as never
  }
  response.once('close', () => {
    exchange.status = response.statusCode
    exchange.answerHeaders = headersAsSent(response)
  })
}

/**
 * Returns the headers from the text that was sent, because `getHeaders` lacks headers that writeHead received as a
 * list.
 */
function headersAsSent(response: ServerResponse): Record<string, string> {
  const [, ...lines] = ((response as unknown as { _header: string | null })._header ?? '').trim().split('\r\n')
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
}

function recordStream(exchange: Exchange, stream: ServerHttp2Stream): void {
  stream.on('data', (chunk: Buffer) => {
    exchange.body = Buffer.concat([exchange.body, chunk])
  })
  stream.once('close', () => {
    exchange.status = Number(stream.sentHeaders?.[':status'])
    exchange.answerHeaders = { ...stream.sentHeaders }
  })
}
