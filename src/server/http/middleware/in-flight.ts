import { Problem } from '../../../core/errors.ts'

/** Requests of each workspace that this process is at work on. */
export interface InFlight {
  count(workspaceId: string): number
  /**
   * Counts one more until the returned function is called.
   * @throws Problem TOO_MANY_REQUESTS with Retry-After
   */
  enter(workspaceId: string, allowed: number): () => void
}

export function createInFlight(): InFlight {
  const counts = new Map<string, number>()
  const count = (workspaceId: string) => counts.get(workspaceId) ?? 0
  return {
    count,
    enter(workspaceId, allowed) {
      const used = count(workspaceId)
      if (used >= allowed) {
        throw new Problem('TOO_MANY_REQUESTS', {
          message: `The workspace has ${used} requests in flight at this server, and may have ${allowed}; wait 1 s.`,
          details: { limit: 'requestsInFlight', allowed, used },
          headers: { 'retry-after': '1' },
        })
      }
      counts.set(workspaceId, used + 1)
      return () => {
        const left = count(workspaceId) - 1
        if (left > 0) counts.set(workspaceId, left)
        else counts.delete(workspaceId)
      }
    },
  }
}
