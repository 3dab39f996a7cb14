import { ApiError } from '../../core/errors.ts'
import { createCounters } from './counters.ts'

export type InFlight = ReturnType<typeof createInFlight>

/**
 * Creates counters of the concurrent uses of each workspace in this process, such as requests in flight.
 * @param what the name of the limit, and the plural name of the counted things for error messages
 */
export function createInFlight(
  what: { limit: string; noun: string } = { limit: 'requestsInFlight', noun: 'requests in flight' },
) {
  const { of: count, add } = createCounters()
  function reject(subject: string, allowed: number, used: number): never {
    throw new ApiError('TOO_MANY_REQUESTS', {
      message: `The ${subject} has ${used} ${what.noun} at this server, and at most ${allowed} are allowed. Retry in 1 s.`,
      details: { limit: what.limit, allowed, used },
      headers: { 'retry-after': '1' },
    })
  }
  return {
    count,
    /**
     * Counts one use until the returned function is called. A party of the workspace, such as a door, is rejected if it
     * already has as many uses as are free, so that other parties always find free uses.
     * @throws ApiError TOO_MANY_REQUESTS with Retry-After
     */
    enter(workspaceId: string, allowed: number, party?: string): () => void {
      const used = count(workspaceId)
      if (used >= allowed) reject('workspace', allowed, used)
      const keys = [workspaceId]
      if (party !== undefined) {
        const own = count(party)
        if (used + own >= allowed) reject('door', own, own)
        keys.push(party)
      }
      for (const key of keys) add(key, 1)
      return () => {
        for (const key of keys) add(key, -1)
      }
    },
  }
}

export type BodyRoom = ReturnType<typeof createBodyRoom>

/** The maximum number of bytes of request bodies in memory, per process and per workspace. */
export interface BodyRoomOptions {
  processBytes: number
  workspaceBytes: number
  /** Returns the error to throw at a limit. Default: an error about request bodies. */
  toError?: (isOfWorkspace: boolean) => ApiError
}

/**
 * Limits the bodies of concurrent requests, per process and per workspace. Otherwise, large bodies would use up the
 * memory, because the parsed text, values, and rows take several times the size of a body.
 */
export function createBodyRoom({ processBytes, workspaceBytes, toError }: BodyRoomOptions = BODY_BYTES) {
  const held = createCounters()
  let total = 0

  return {
    /**
     * Creates an empty reservation for the body of a request, which grows while the body arrives. Call `leave` when the
     * response is ready. A party of the workspace, such as a door, must leave as much memory free as it uses, so that
     * other parties always find memory.
     */
    enter(workspaceId: string, party?: string) {
      const keys = party === undefined ? [workspaceId] : [workspaceId, party]
      let reserved = 0

      function add(bytes: number): void {
        for (const key of keys) held.add(key, bytes)
        total += bytes
        reserved += bytes
      }

      return {
        /**
         * @throws ApiError TOO_MANY_REQUESTS at the limit of the workspace, SERVICE_UNAVAILABLE at the limit of the
         * process
         */
        reserve(bytes: number): void {
          const used = held.of(workspaceId)
          const own = party === undefined ? 0 : held.of(party) + bytes
          if (used + bytes + own > workspaceBytes) {
            if (toError) throw toError(true)
            const subject = used + bytes > workspaceBytes ? 'workspace' : 'door'
            const message = `The ${subject} would exceed its limit for request bodies in flight (${workspaceBytes / 2 ** 20} MiB per workspace)`
            const details = { limit: 'bodyBytesInFlight', allowed: workspaceBytes, used }
            throw noRoom('TOO_MANY_REQUESTS', message, details)
          }
          if (total + bytes > processBytes) {
            throw toError?.(false) ?? noRoom('SERVICE_UNAVAILABLE', 'The server is reading too many large bodies')
          }
          add(bytes)
        },
        leave: () => add(-reserved),
      }
    },
  }
}

/** The default limits: two bodies of the maximum size per workspace, and eight in total. */
const BODY_BYTES: BodyRoomOptions = { processBytes: 64 * 2 ** 20, workspaceBytes: 16 * 2 ** 20 }

/**
 * Returns the error for a body that would exceed a limit. The response closes the connection, because the client cannot
 * send another request after the unread body.
 */
function noRoom(code: 'TOO_MANY_REQUESTS' | 'SERVICE_UNAVAILABLE', what: string, details = {}): ApiError {
  return new ApiError(code, {
    message: `${what}. Retry in 1 s.`,
    details,
    headers: { 'retry-after': '1', connection: 'close' },
    forLog: { limit: 'bodies' },
  })
}
