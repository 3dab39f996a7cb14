import type { CallOptions } from '../../client/client.ts'
import { ApiError, ConnectionError } from '../../client/errors.ts'

export type Reply<T> =
  | { kind: 'answer'; value: T }
  /** Nobody answered in time, or only that something is broken: whether it was done is unknown. */
  | { kind: 'silence' }
  /** The server is there and will not do it. */
  | { kind: 'refusal'; error: ApiError }

/** So long a person at the door waits for an answer. */
export const PATIENCE_MS = 3_000

/** Calls the server and gives up in time. The call must be safe to repeat: a broken connection is tried again. */
export async function ask<T>(
  call: (options: CallOptions) => Promise<T>,
  stop?: AbortSignal,
  patienceMs = PATIENCE_MS,
): Promise<Reply<T>> {
  const patience = AbortSignal.timeout(patienceMs)
  const signal = stop ? AbortSignal.any([patience, stop]) : patience
  try {
    return { kind: 'answer', value: await call({ signal, idempotent: true }) }
  } catch (error) {
    if (error instanceof ApiError && error.status < 500 && error.status !== 429) return { kind: 'refusal', error }
    if (signal.aborted || error instanceof ApiError || error instanceof ConnectionError) return { kind: 'silence' }
    throw error
  }
}
