/** What a workspace may have of each thing that costs the others something. */
export const limitNames = [
  'webhooks',
  'passes',
  'storedBytes',
  'waitingJobs',
  'draftsPerTemplate',
  'scheduledSends',
  'requestsInFlight',
] as const
/** What a workspace has a limit of. */
export type LimitName = (typeof limitNames)[number]
/** How much of each a workspace may have. */
export type WorkspaceLimits = Record<LimitName, number>

/** What holds where an operator set nothing else. */
export const defaultLimits: WorkspaceLimits = {
  webhooks: 50,
  passes: 10_000_000,
  /** Images, definitions of template versions and variables of passes, as they are stored. */
  storedBytes: 10 * 1024 ** 3,
  /** Jobs of the outbox that are due, or wait for their time. */
  waitingJobs: 2_000_000,
  draftsPerTemplate: 20,
  /** Notifications and broadcasts whose time has not come. */
  scheduledSends: 10_000,
  /** At each process. */
  requestsInFlight: 256,
}

/** The most passes that one device of Apple Wallet holds in a workspace. A list of what changed on the device names all of them. */
export const MAX_PASSES_PER_DEVICE = 300

/** What a limit may be set to: its counters stay whole numbers. */
export const MAX_LIMIT = Number.MAX_SAFE_INTEGER

/** From so much of a limit on, a workspace counts as near it. */
export const NEAR_PERCENT = 80
