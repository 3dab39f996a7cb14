import { type Platform, platformFacts, platforms } from '../../core/contract/schemas/platform.ts'
import { SERVER_IDENTITY } from '../../storage/workspaces/identities-repository.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'

/**
 * The number of calls that an identity can make now: any number, none, or one call that tests whether the platform
 * responds.
 */
export interface Admission {
  most: number
  /** The time at which to ask again for calls that were not admitted. */
  until: Date
}

/**
 * The outcome of a call. `failed` means that the platform is down or rejects all requests of this identity. `null`
 * means that the call shows nothing about the platform.
 */
export type CallOutcome = 'answered' | 'failed' | null

export interface WatchedCall<T> {
  outcomeOf(result: { value: T } | { error: unknown }): CallOutcome
  /** Returns the reason for a `failed` outcome, for the log. If the call throws, the reason is the error's message. */
  reasonOf?: ((value: T) => string | undefined) | undefined
  /** Called once if the call hangs, so that the worker can continue with other jobs. */
  onHang?: (() => void) | undefined
}

export type Breakers = ReturnType<typeof createBreakers>
export type Breaker = ReturnType<typeof createBreaker>

export interface BreakersOptions {
  nameOf: (identityId: string) => string
  clock: () => Date
  log: Pick<Logger, 'info' | 'warn'>
  metrics: Pick<Metrics, 'identityPaused'>
  /**
   * The time, in seconds, after which a call counts as hanging, unless another call of the identity has got a response
   * since this call started. Default: 2.
   */
  hangSeconds?: number | undefined
}

const FAILURES_TO_PAUSE = 5
const FIRST_PAUSE_MS = 2_000
export const MAX_PAUSE_MS = 60_000
/** The interval at which calls are retried if they were not admitted because another call hangs. */
const RECHECK_MS = 2_000
/**
 * The time after which another call tests the platform if the last test has no result. It is longer than any call
 * takes.
 */
const TRY_MS = 30_000

/** Creates a breaker on demand for each identity of a platform. The ID of the server's own identity is null. */
export function createBreakers(options: BreakersOptions) {
  const breakers = new Map<string, Breaker>()
  // Create the series of the metric with 0. Otherwise, an alert on an increase would miss the first increase.
  for (const platform of platforms)
    options.metrics.identityPaused.set({ provider: platformFacts[platform].provider, identity: SERVER_IDENTITY }, 0)
  return {
    of(platform: Platform, identityId: string | null): Breaker {
      const key = `${platform} ${identityId}`
      const breaker = breakers.get(key) ?? createBreaker({ platform, identityId }, options)
      breakers.set(key, breaker)
      return breaker
    },
  }
}

/**
 * Pauses the calls of an identity while its platform does not respond, so that other work continues. Five consecutive
 * failures, or one call that hangs and then fails, start a pause of two seconds. After a pause, one call tests the
 * platform. If the test fails, the next pause is twice as long, up to a minute. While a call hangs, no further calls
 * start until any call gets a response.
 */
function createBreaker(
  { platform, identityId }: { platform: Platform; identityId: string | null },
  { nameOf, clock, log, metrics, hangSeconds = 2 }: BreakersOptions,
) {
  const hanging = new Set<object>()
  let answers = 0
  let failures = 0
  /** The number of consecutive pauses; 0 if the identity is not paused. */
  let pauses = 0
  let pauseEnd = 0
  let isTrying = false
  let isShown = false

  const labels = () => ({
    provider: platformFacts[platform].provider,
    identity: identityId === null ? SERVER_IDENTITY : nameOf(identityId),
  })

  function answered(how = 'a platform responds to an identity again'): void {
    // This response shows that the platform responds, so earlier calls that still hang must not block other calls.
    answers += 1
    failures = 0
    hanging.clear()
    if (pauses === 0) return
    pauses = 0
    isTrying = false
    metrics.identityPaused.set(labels(), 0)
    log.info(labels(), how)
  }

  function failed(hung: boolean, reason: string | undefined): void {
    failures += 1
    // During a pause, only the result of the call that tests the platform counts.
    const isOver = pauses === 0 ? hung || failures >= FAILURES_TO_PAUSE : isTrying
    if (!isOver) return
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** pauses, MAX_PAUSE_MS)
    pauses += 1
    isTrying = false
    pauseEnd = clock().getTime() + pauseMs
    metrics.identityPaused.set(labels(), 1)
    if (pauses === 1)
      log.warn(
        { ...labels(), reason },
        'a platform does not respond to an identity: the work of the identity is paused',
      )
  }

  return {
    /** Ends the pause, because the identity has a new key or certificate. Returns whether the identity was paused. */
    renewed(): boolean {
      const wasPaused = pauses > 0
      answered('an identity was renewed: its work continues')
      return wasPaused
    },
    admit(): Admission {
      const at = clock().getTime()
      if (pauses > 0) {
        const isHeld = at < pauseEnd
        if (!isHeld) [isTrying, pauseEnd] = [true, at + TRY_MS]
        return { most: isHeld ? 0 : 1, until: new Date(isTrying ? at + RECHECK_MS : pauseEnd) }
      }
      return { most: hanging.size > 0 ? 0 : Number.POSITIVE_INFINITY, until: new Date(at + RECHECK_MS) }
    },
    /**
     * Returns the end of the pause; undefined if the identity is not paused. A job whose call fails during a pause must
     * not count the failure as an attempt.
     */
    pausedUntil: () => (pauses > 0 ? new Date(pauseEnd) : undefined),
    /** Makes a call that `admit` has admitted, and records its outcome. */
    async run<T>(call: () => Promise<T>, { outcomeOf, reasonOf, onHang }: WatchedCall<T>): Promise<T> {
      const self = {}
      const before = answers
      let hung = false
      // A call that tests the platform counts as hanging immediately. Otherwise, other work would wait for this call.
      const timer = setTimeout(
        () => {
          if (answers > before) return
          hung = true
          hanging.add(self)
          onHang?.()
        },
        pauses > 0 ? 0 : hangSeconds * 1000,
      )
      const settle = (outcome: CallOutcome, reason: string | undefined) => {
        clearTimeout(timer)
        hanging.delete(self)
        if (!isShown) metrics.identityPaused.set(labels(), pauses > 0 ? 1 : 0)
        isShown = true
        if (outcome === 'answered') answered()
        if (outcome === 'failed') failed(hung && answers === before, reason)
      }
      let value: Awaited<ReturnType<typeof call>>
      try {
        value = await call()
      } catch (error) {
        settle(outcomeOf({ error }), error instanceof Error ? error.message : String(error))
        throw error
      }
      settle(outcomeOf({ value }), reasonOf?.(value))
      return value
    },
  }
}
