import { type Platform, platformFacts, platforms } from '../../core/contract/platform.ts'
import { SERVER_IDENTITY } from '../../storage/workspaces/identities.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** How much work an identity takes now: any, one piece to try whether its platform answers again, or none until a moment. */
export interface Admission {
  most: number
  /** When the rest may come. */
  until: Date
}

/** How a call ended: `failed` says that the platform is away or takes nothing of this identity, null nothing of either. */
export type CallOutcome = 'answered' | 'failed' | null

/** What is to be known of a call. */
export interface WatchedCall<T> {
  outcomeOf(result: { value: T } | { error: unknown }): CallOutcome
  /** Why it failed, for the log; what was thrown says so by itself. */
  reasonOf?: ((value: T) => string | undefined) | undefined
  /** The call hangs: what others wait for must not wait for it. At most once. */
  onHang?: (() => void) | undefined
}

/**
 * Keeps the work of an identity back while its platform does not answer it, so that others go on: after five calls in a row that
 * failed, or one that hung and then failed, it pauses for 2 s, and twice as long after each try in vain, up to a minute. While a call
 * hangs and none is answered no other begins.
 */
export interface Breaker {
  admit(): Admission
  /** When it is tried again; undefined while it is not paused. What fails in a pause says nothing of the job that failed. */
  pausedUntil(): Date | undefined
  /**
   * Its work goes on at once, since it has another key or certificate: what failed before says nothing of it. Returns whether it was
   * paused.
   */
  renewed(): boolean
  /** Makes a call that was admitted. */
  run<T>(call: () => Promise<T>, watched: WatchedCall<T>): Promise<T>
}

/** The breakers of a process, one for each platform and identity; null is the identity of the server. */
export interface Breakers {
  of(platform: Platform, identityId: string | null): Breaker
}

/** What breakers are made with. */
export interface BreakersOptions {
  nameOf: (identityId: string) => string
  clock: () => Date
  log: Pick<Logger, 'info' | 'warn'>
  metrics: Pick<Metrics, 'identityPaused'>
  /** After so long without any answer a call hangs; 2 by default. */
  hangSeconds?: number | undefined
}

const FAILURES_TO_PAUSE = 5
const FIRST_PAUSE_MS = 2_000
/** No pause is longer. */
export const MAX_PAUSE_MS = 60_000
/** While a call hangs, others look again so often. */
const LOOK_MS = 2_000
/** Longer than any call takes: a try that has had no answer by then is over. */
const TRY_MS = 30_000

/** Makes the breakers of a process, each when it is first asked for. */
export function createBreakers(options: BreakersOptions): Breakers {
  const breakers = new Map<string, Breaker>()
  // Alerts on a rise miss the first one where nothing stood before it.
  for (const platform of platforms)
    options.metrics.identityPaused.set({ provider: platformFacts[platform].provider, identity: SERVER_IDENTITY }, 0)
  return {
    of(platform, identityId) {
      const key = `${platform} ${identityId}`
      const breaker = breakers.get(key) ?? createBreaker({ platform, identityId }, options)
      breakers.set(key, breaker)
      return breaker
    },
  }
}

function createBreaker(
  { platform, identityId }: { platform: Platform; identityId: string | null },
  { nameOf, clock, log, metrics, hangSeconds = 2 }: BreakersOptions,
): Breaker {
  const hanging = new Set<object>()
  let answers = 0
  let failures = 0
  /** In a row; 0 while it is not paused. */
  let pauses = 0
  let pauseEnd = 0
  let isTrying = false
  let isShown = false

  const labels = () => ({
    provider: platformFacts[platform].provider,
    identity: identityId === null ? SERVER_IDENTITY : nameOf(identityId),
  })

  function answered(how = 'an identity is answered again'): void {
    // What hangs from before says nothing any more.
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
    // Calls from before a pause say nothing new.
    const isOver = pauses === 0 ? hung || failures >= FAILURES_TO_PAUSE : isTrying
    if (!isOver) return
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** pauses, MAX_PAUSE_MS)
    pauses += 1
    isTrying = false
    pauseEnd = clock().getTime() + pauseMs
    metrics.identityPaused.set(labels(), 1)
    if (pauses === 1)
      log.warn({ ...labels(), reason }, 'an identity is not answered: its work waits, that of others goes on')
  }

  return {
    renewed() {
      const wasPaused = pauses > 0
      answered('an identity was renewed: its work goes on')
      return wasPaused
    },
    admit() {
      const at = clock().getTime()
      if (pauses > 0) {
        const isHeld = at < pauseEnd
        if (!isHeld) [isTrying, pauseEnd] = [true, at + TRY_MS]
        return { most: isHeld ? 0 : 1, until: new Date(isTrying ? at + LOOK_MS : pauseEnd) }
      }
      return { most: hanging.size > 0 ? 0 : Number.POSITIVE_INFINITY, until: new Date(at + LOOK_MS) }
    },
    pausedUntil: () => (pauses > 0 ? new Date(pauseEnd) : undefined),
    async run(call, { outcomeOf, reasonOf, onHang }) {
      const self = {}
      const before = answers
      let hung = false
      // What is only tried is waited for by nobody.
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
