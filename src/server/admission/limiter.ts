import { ApiError } from '../../core/errors.ts'
import { BODY_BYTES } from './constants.ts'
import type { Rejection } from './fair-queue.ts'

/** Limits the concurrent work of each workspace at this process, and the memory that its bodies fill. */
export interface Limiter {
  /** The number of places that a workspace holds. */
  count(workspaceId: string): number
  /**
   * Takes one more place of at most `allowed`. A door of the workspace never holds more places, or bytes, than it leaves to
   * the others.
   * @throws ApiError TOO_MANY_REQUESTS with Retry-After
   */
  enter(workspaceId: string, allowed?: number, doorId?: string): Place
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
  /** A quarter of `processBytes` by default. */
  workspaceBytes?: number
  /** Creates the error if there are no bytes left; by default that of the body of a request. */
  reject?: (reason: Rejection) => Error
}

const MIB = 1024 * 1024

/** Creates a limiter in which no workspace holds a place: see Limiter. */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { limit = 'requestsInFlight', noun = 'requests in flight', reject } = options
  const { processBytes = BODY_BYTES, workspaceBytes = processBytes / 4 } = options
  /** By workspace and by door. */
  const held = new Map<string, { places: number; bytes: number }>()
  let total = 0

  const of = (id: string) => held.get(id) ?? { places: 0, bytes: 0 }

  return {
    count: (workspaceId) => of(workspaceId).places,
    enter(workspaceId, allowed = Number.POSITIVE_INFINITY, doorId) {
      const ours = of(workspaceId)
      if (ours.places >= allowed) throw tooMany('workspace', noun, { limit, allowed, used: ours.places })
      const door = doorId === undefined ? undefined : of(doorId)
      const places = door?.places ?? 0
      if (ours.places + places >= allowed) throw tooMany('door', noun, { limit, allowed: places, used: places })
      const holders = new Map([[workspaceId, ours]])
      if (doorId !== undefined && door) holders.set(doorId, door)
      for (const [id, holder] of holders) {
        held.set(id, holder)
        holder.places += 1
      }
      let reserved = 0
      return {
        reserve(bytes) {
          const wanted = ours.bytes + bytes
          if (wanted + (door ? door.bytes + bytes : 0) > workspaceBytes) {
            const subject = wanted > workspaceBytes ? 'workspace' : 'door'
            throw reject?.('flow-full') ?? tooManyBytes(subject, { allowed: workspaceBytes, used: ours.bytes })
          }
          if (total + bytes > processBytes) throw reject?.('full') ?? noBytes()
          for (const holder of holders.values()) holder.bytes += bytes
          total += bytes
          reserved += bytes
        },
        leave() {
          if (holders.size > 0) total -= reserved
          for (const [id, holder] of holders) {
            holder.bytes -= reserved
            holder.places -= 1
            if (holder.places === 0) held.delete(id)
          }
          holders.clear()
        },
      }
    },
  }
}

function tooMany(subject: string, noun: string, details: { limit: string; allowed: number; used: number }): ApiError {
  return new ApiError('TOO_MANY_REQUESTS', {
    message: `The ${subject} has ${details.used} ${noun} at this server, and may have ${details.allowed}; wait 1 s.`,
    details,
    headers: { 'retry-after': '1' },
  })
}

/** The body is not read, so no other request can follow it on the connection. */
const closing = { headers: { 'retry-after': '1', connection: 'close' }, forLog: { limit: 'bodies' } }

function tooManyBytes(subject: string, details: { allowed: number; used: number }): ApiError {
  const part = `${details.allowed / MIB} MiB`
  const message = `The ${subject} sends more than its part of ${part} of bodies at once. Retry in a second.`
  return new ApiError('TOO_MANY_REQUESTS', { message, details: { limit: 'bodyBytesInFlight', ...details }, ...closing })
}

function noBytes(): ApiError {
  const message = 'The server reads too many large bodies. Retry in a second.'
  return new ApiError('SERVICE_UNAVAILABLE', { message, ...closing })
}
