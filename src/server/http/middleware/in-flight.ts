import { ApiError } from '../../../core/errors.ts'

/** What each workspace has of something at this process, such as requests that it is at work on. */
export interface InFlight {
  count(workspaceId: string): number
  /**
   * Counts one more until the returned function is called. A party of the workspace, such as a door, never has more than it
   * leaves to the others.
   * @throws ApiError TOO_MANY_REQUESTS with Retry-After
   */
  enter(workspaceId: string, allowed: number, party?: string): () => void
}

/** Counts by workspace: see InFlight. @param what the name of the limit, and what is counted as messages say it */
export function createInFlight(
  what: { limit: string; noun: string } = { limit: 'requestsInFlight', noun: 'requests in flight' },
): InFlight {
  const counts = new Map<string, number>()
  const count = (workspaceId: string) => counts.get(workspaceId) ?? 0
  function add(key: string, change: number): void {
    const next = count(key) + change
    if (next > 0) counts.set(key, next)
    else counts.delete(key)
  }
  function reject(subject: string, allowed: number, used: number): never {
    throw new ApiError('TOO_MANY_REQUESTS', {
      message: `The ${subject} has ${used} ${what.noun} at this server, and may have ${allowed}; wait 1 s.`,
      details: { limit: what.limit, allowed, used },
      headers: { 'retry-after': '1' },
    })
  }
  return {
    count,
    enter(workspaceId, allowed, party) {
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

/**
 * The memory that bodies of requests may fill at once. What a body becomes (text, values, rows) is several times its size,
 * so it is bounded for the process, and for each workspace to a part of that.
 */
export interface BodyRoom {
  /**
   * A place for the body of one request; leave when its answer is made. A party of the workspace, such as a door, never has more
   * than it leaves to the others.
   */
  enter(workspaceId: string, party?: string): BodyPlace
}

/** The room of one body, taken as its bytes come. */
export interface BodyPlace {
  /** @throws ApiError TOO_MANY_REQUESTS where the workspace has no room left, SERVICE_UNAVAILABLE where the process has none */
  reserve(bytes: number): void
  leave(): void
}

/** Bytes of bodies in memory, of the process and of one workspace. */
export interface BodyRoomOptions {
  processBytes: number
  workspaceBytes: number
  /** Says that there is no room, where what is sent is not read but made here. */
  refuse?: (isOfWorkspace: boolean) => ApiError
}

const MIB = 1024 * 1024

/** Bounds the bytes of bodies that are held at once, of a process and of a workspace: see BodyRoom. */
export function createBodyRoom({ processBytes, workspaceBytes, refuse }: BodyRoomOptions = DEFAULTS): BodyRoom {
  const held = new Map<string, number>()
  const heldBy = (key: string) => held.get(key) ?? 0
  let total = 0

  return {
    enter(workspaceId, party) {
      const keys = party === undefined ? [workspaceId] : [workspaceId, party]
      let reserved = 0

      function add(bytes: number): void {
        for (const key of keys) {
          const now = heldBy(key) + bytes
          if (now > 0) held.set(key, now)
          else held.delete(key)
        }
        total += bytes
        reserved += bytes
      }

      return {
        reserve(bytes) {
          const used = heldBy(workspaceId)
          const own = party === undefined ? 0 : heldBy(party) + bytes
          if (used + bytes + own > workspaceBytes) {
            if (refuse) throw refuse(true)
            const subject = used + bytes > workspaceBytes ? 'workspace' : 'door'
            const message = `The ${subject} sends more than its part of ${workspaceBytes / MIB} MiB of bodies at once`
            const details = { limit: 'bodyBytesInFlight', allowed: workspaceBytes, used }
            throw noRoom('TOO_MANY_REQUESTS', message, details)
          }
          if (total + bytes > processBytes) {
            throw refuse?.(false) ?? noRoom('SERVICE_UNAVAILABLE', 'The server reads too many large bodies')
          }
          add(bytes)
        },
        leave: () => add(-reserved),
      }
    },
  }
}

/** Two of the largest bodies of one workspace at once, and eight of all. */
const DEFAULTS: BodyRoomOptions = { processBytes: 64 * MIB, workspaceBytes: 16 * MIB }

/** Nobody reads the body, so that no other request can follow it on the connection. */
function noRoom(code: 'TOO_MANY_REQUESTS' | 'SERVICE_UNAVAILABLE', what: string, details = {}): ApiError {
  return new ApiError(code, {
    message: `${what}; send this one again in a second.`,
    details,
    headers: { 'retry-after': '1', connection: 'close' },
    forLog: { limit: 'bodies' },
  })
}
