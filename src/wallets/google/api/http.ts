import { Agent, type Dispatcher, request } from 'undici'
import { readBounded } from '../../../core/read-bounded.ts'
import type { ProviderCall } from '../../wallet.ts'
import { GoogleApiError, rejection } from './api-error.ts'

export interface HttpRequest {
  method: Dispatcher.HttpMethod
  url: string
  headers?: Record<string, string>
  body?: string
}

export interface HttpOptions {
  dispatcher?: Dispatcher
  /** The timeout of the whole exchange, up to the last byte of the response. Default: 15. */
  timeoutSeconds?: number
  onCall?: ((call: ProviderCall) => void) | undefined
}

export interface HttpReply {
  status: number
  headers: Dispatcher.ResponseData['headers']
  text: string
}

const MAX_REPLY_BYTES = 1024 * 1024
const TIMEOUT_SECONDS = 15
const defaultDispatcher = new Agent({ connect: { timeout: 3000 } })

/**
 * Sends a request. Does not follow redirects, and reads at most 1 MiB.
 * @throws GoogleApiError if the response is incomplete or not successful
 */
export async function send({ url, ...message }: HttpRequest, options: HttpOptions): Promise<HttpReply> {
  const { dispatcher = defaultDispatcher, timeoutSeconds = TIMEOUT_SECONDS } = options
  const signal = AbortSignal.timeout(timeoutSeconds * 1000)
  const began = performance.now()
  let outcome = 'ok'
  try {
    const reply = await exchange(url, { ...message, dispatcher, signal })
    if (reply.status < 200 || reply.status > 299) throw rejection(reply.status, reply.headers, reply.text)
    return reply
  } catch (error) {
    outcome = (error as GoogleApiError).kind
    throw error
  } finally {
    options.onCall?.({ provider: 'google', outcomes: [outcome], seconds: (performance.now() - began) / 1000 })
  }
}

async function exchange(url: string, options: NonNullable<Parameters<typeof request>[1]>): Promise<HttpReply> {
  try {
    const { statusCode, headers, body } = await request(url, options)
    const bytes = await readBounded(body, MAX_REPLY_BYTES)
    if (bytes) return { status: statusCode, headers, text: bytes.toString() }
  } catch (cause) {
    const message = `No response from ${new URL(url).host}: ${cause instanceof Error ? cause.message : cause}`
    throw new GoogleApiError({ kind: 'unavailable', message, cause })
  }
  throw new GoogleApiError({ kind: 'unavailable', message: 'The response exceeds 1 MiB.' })
}
