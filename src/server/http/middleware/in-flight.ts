import { ApiError } from '../../../core/errors.ts'

/** What each workspace has of something at this process, such as requests that it is at work on. */
export interface InFlight {
  count(workspaceId: string): number
  /**
   * Counts one more until the returned function is called.
   * @throws Problem TOO_MANY_REQUESTS with Retry-After
   */
  enter(workspaceId: string, allowed: number): () => void
}

/** @param what the name of the limit, and what is counted as messages say it */
export function createInFlight(
  what: { limit: string; noun: string } = { limit: 'requestsInFlight', noun: 'requests in flight' },
): InFlight {
  const counts = new Map<string, number>()
  const count = (workspaceId: string) => counts.get(workspaceId) ?? 0
  return {
    count,
    enter(workspaceId, allowed) {
      const used = count(workspaceId)
      if (used >= allowed) {
        throw new ApiError('TOO_MANY_REQUESTS', {
          message: `The workspace has ${used} ${what.noun} at this server, and may have ${allowed}; wait 1 s.`,
          details: { limit: what.limit, allowed, used },
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
