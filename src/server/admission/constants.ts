/** All numbers that decide who waits, and for how long (decisions/0003). Each one says what it does for a user. */

const MIB = 1024 * 1024

/**
 * The resources that workspaces or visitors take turns at. A request that waits longer than the timeout, or finds too many
 * others waiting, gets 503 and can retry, instead of a response after its client gave up.
 */
export const turns = {
  // Scans and single changes in work while the process is busy, so that a door gets a response within a few others.
  smallRequests: { places: 16, perFlow: 8, timeoutMs: 10_000 },
  // Batches, lists, and jobs in work while the process is busy: one of each workspace, since each keeps the process from others.
  largeWork: { places: 4, perFlow: 1, timeoutMs: 10_000 },
  // Requests that render definitions. Two of the largest definitions per workspace fit in memory.
  renders: { places: 4, perFlow: 2, timeoutMs: 30_000 },
  // Uploads that wait for the process that decodes images. Each holds up to 5 MiB.
  images: { places: 1, max: 24, maxPerFlow: 8 },
  // Packages that are signed or wait for it. One of the four threads is left to the database.
  signatures: { places: 3, max: 1_024, maxPerFlow: 512 },
  // Bundles, of ten packages each in memory.
  bundles: { places: 2, max: 64, maxPerFlow: 16 },
  // Responses without a token, of all addresses and of one: hosted links open while strangers send many requests.
  visitors: { places: 128, perFlow: 32, max: 1_152, maxPerFlow: 160, timeoutMs: 5_000 },
}

/**
 * The number of jobs of each queue and priority in flight. One workspace has at most half of the batches, rounded up, so that
 * passes of others are issued and updated while a batch of it hangs at a provider.
 */
export const queueOptions = {
  issuing: {
    // Small, so that the pass of another workspace does not wait long.
    interactive: { batchSize: 25, batches: 7 },
    bulk: { batchSize: 100, batches: 7 },
  },
  pushes: {
    urgent: { batchSize: 20, batches: 7 },
    interactive: { batchSize: 250, batches: 7 },
    bulk: { batchSize: 100, batches: 5 },
  },
  google: {
    urgent: { batchSize: 10, batches: 7 },
    // As many requests as Google takes from one server at once. The others wait in the outbox.
    interactive: { batchSize: 2, batches: 7 },
    // Few, since an urgent request waits for those that are in flight.
    bulk: { batchSize: 5, batches: 3 },
  },
  // One endpoint per batch. Endpoints that hang must leave slots to the others.
  webhooks: { interactive: { batchSize: 1, batches: 255 } },
  database: {
    interactive: { batchSize: 1, batches: 7, isLocal: true },
    bulk: { batchSize: 1, batches: 5, isLocal: true },
  },
}

/**
 * A delay that users do not notice, in milliseconds. A workspace that used SQLite's writer less than others goes first
 * by this time, so that it creates a pass, scans it, and reads the result without waiting three times. While a
 * workspace scans, its own batches begin at this interval.
 */
export const UNNOTICED_MS = 100

/** The time for which a workspace counts as present after its turn began: others then leave it a processor of the database. */
export const PRESENT_MS = 1_000

/** The part of the event loop's time in use from which workspaces take turns. Below it, no request waits. */
export const BUSY = 0.6

/** The time for which the process counts as busy, in milliseconds, so that turns do not begin and end all the time. */
export const BUSY_MS = 3_000

/** The size of a body from which a request takes turns with other large ones. A scan, and all that a person sends, is smaller. */
export const LARGE_BYTES = 4_096

/** The bytes of bodies that the process holds: eight of the largest. A workspace holds a quarter, so that others can send. */
export const BODY_BYTES = 64 * MIB

/**
 * The time after which work without a result hangs, in milliseconds: it leaves its slot to other jobs. Work of an
 * identity whose platform hangs is paused for this time, and then tried again.
 */
export const HANG_MS = 2_000

/** The number of failed calls in a row after which an identity is paused, so that its jobs do not fill the slots of others. */
export const FAILURES_TO_PAUSE = 5

/**
 * The longest pause of an identity, in milliseconds: the longest time that its phones wait for updates after its
 * platform responds again.
 */
export const MAX_PAUSE_MS = 60_000

/** The time in which a visitor has to read a response, in milliseconds: the largest image at 350 kbit/s. */
export const PUBLIC_RESPONSE_MS = 120_000
