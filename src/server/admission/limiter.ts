import { ApiError } from '../../core/errors.ts'

/** Limits the concurrent work of each workspace at this process, and the memory that its bodies fill. */
export interface Limiter {
  /** The number of places that a workspace holds. */
  count(workspaceId: string): number
  /**
   * Takes one more place of at most `allowed`.
   * @throws ApiError TOO_MANY_REQUESTS with Retry-After
   */
  enter(workspaceId: string, allowed?: number): Place
}

/** One request, or one piece of work, of a workspace. */
export interface Place {
  /**
   * Reserves bytes of memory until the place is left.
   * @throws ApiError TOO_MANY_REQUESTS if the workspace has no bytes left, SERVICE_UNAVAILABLE if the process has none
   */
  reserve(bytes: number): void
  leave(): void
}

/** The subject of a limiter, as errors name it, and its bytes. */
export interface LimiterOptions {
  /** The name of the limit in the details of the error. `requestsInFlight` by default. */
  limit?: string
  /** The plural in the message. */
  noun?: string
  processBytes?: number
  workspaceBytes?: number
  /** Creates the error if there are no bytes left; by default that of the body of a request. */
  reject?: (isOfWorkspace: boolean) => ApiError
}

const MIB = 1024 * 1024

/**
 * The bytes of bodies in memory, of all workspaces and of one: eight and two of the largest bodies. A body becomes text,
 * values, and rows of several times its size.
 */
const PROCESS_BYTES = 64 * MIB
const WORKSPACE_BYTES = 16 * MIB

/** Creates a limiter in which no workspace holds a place: see Limiter. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { limit = 'requestsInFlight', noun = 'requests in flight', reject } = options
  const { processBytes = PROCESS_BYTES, workspaceBytes = WORKSPACE_BYTES } = options
  const held = new Map<string, { places: number; bytes: number }>()
  let total = 0

  return {
    count: (workspaceId) => held.get(workspaceId)?.places ?? 0,
    enter(workspaceId, allowed = Number.POSITIVE_INFINITY) {
      const ours = held.get(workspaceId) ?? { places: 0, bytes: 0 }
      if (ours.places >= allowed) throw tooMany({ limit, noun, allowed, used: ours.places })
      held.set(workspaceId, ours)
      ours.places += 1
      let reserved = 0
      let isOpen = true
      return {
        reserve(bytes) {
          if (ours.bytes + bytes > workspaceBytes) {
            throw reject?.(true) ?? tooManyBytes({ allowed: workspaceBytes, used: ours.bytes })
          }
          if (total + bytes > processBytes) throw reject?.(false) ?? noBytes()
          ours.bytes += bytes
          total += bytes
          reserved += bytes
        },
        leave() {
          if (!isOpen) return
          isOpen = false
          ours.bytes -= reserved
          total -= reserved
          ours.places -= 1
          if (ours.places === 0) held.delete(workspaceId)
        },
      }
    },
  }
}

function tooMany({ noun, ...details }: { limit: string; noun: string; allowed: number; used: number }): ApiError {
  return new ApiError('TOO_MANY_REQUESTS', {
    message: `The workspace has ${details.used} ${noun} at this server, and may have ${details.allowed}; wait 1 s.`,
    details,
    headers: { 'retry-after': '1' },
  })
}

/** The body is not read, so no other request can follow it on the connection. */
const closing = { headers: { 'retry-after': '1', connection: 'close' }, forLog: { limit: 'bodies' } }

function tooManyBytes(details: { allowed: number; used: number }): ApiError {
  const message = `The workspace sends more than ${details.allowed / MIB} MiB of bodies at once. Retry in a second.`
  return new ApiError('TOO_MANY_REQUESTS', { message, details: { limit: 'bodyBytesInFlight', ...details }, ...closing })
}

function noBytes(): ApiError {
  const message = 'The server reads too many large bodies. Retry in a second.'
  return new ApiError('SERVICE_UNAVAILABLE', { message, ...closing })
}
