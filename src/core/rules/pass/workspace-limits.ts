export const defaultLimits = {
  webhooks: 50,
  passes: 10_000_000,
  /** The stored images, definitions of template versions, and variables of passes. */
  storedBytes: 10 * 1024 ** 3,
  /** Jobs of the outbox that are due or scheduled. */
  waitingJobs: 2_000_000,
  draftsPerTemplate: 20,
  /** Notifications and broadcasts that are scheduled. */
  scheduledSends: 10_000,
  /** Concurrent requests. The limit applies to each process separately. */
  requestsInFlight: 256,
}

export type WorkspaceLimits = typeof defaultLimits
export type LimitName = keyof WorkspaceLimits
export const limitNames = Object.keys(defaultLimits) as LimitName[]

/** A limit of a resource whose usage the database knows. Each process counts its own requests in flight. */
export type StoredLimit = Exclude<LimitName, 'requestsInFlight'>

/** The maximum number of a workspace's passes on one Apple device, so that one response can list all of them. */
export const MAX_PASSES_PER_DEVICE = 300

/** The maximum value of a limit. Larger counters would not be exact integers. */
export const MAX_LIMIT = Number.MAX_SAFE_INTEGER

/** The percentage of a limit from which a workspace counts as near the limit. */
export const NEAR_PERCENT = 80
