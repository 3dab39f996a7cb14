import type { CallOptions } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/client-errors.ts'

/** The result of a call that a person at the door waits for. */
export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** No response in time, or an invalid one. */
  | { kind: 'timeout' }
  /** The server rejected the call. */
  | { kind: 'rejection'; error: ApiError }

/** The timeout of interactive calls, in milliseconds. */
export const TIMEOUT_MS = 3_000

/** Calls the server with a timeout. The call must be idempotent: it is retried after a connection error. */
export async function ask<T>(call: (options: CallOptions) => Promise<T>): Promise<Reply<T>> {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    return { kind: 'answer', value: await call({ signal, idempotent: true }) }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500 && error.status !== 429) return { kind: 'rejection', error }
    if (signal.aborted || error instanceof ApiError || error instanceof ConnectionError) return { kind: 'timeout' }
    throw error
  }
}
