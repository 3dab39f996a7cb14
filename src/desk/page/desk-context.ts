import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Scope } from '../../core/route.ts'
import type { Grant } from '../../core/rules/people/person-roles.ts'
import type { DeskLanguage } from '../language.ts'
import type { ActionName } from '../live/actions.ts'
import { type Api, ApiRejection, type ServerClock } from '../live/desk-api.ts'
import type { Feed } from '../live/feed.ts'
import { problemOf } from '../live/problems.ts'
import { createRefresher, type Refresher } from '../live/refresher.ts'
import type { Source } from '../live/sources.ts'

export interface Desk {
  api: Api
  clock: ServerClock
  feed: Feed
  language: DeskLanguage
  scopes: readonly Scope[]
  /** The text for data that the token, or the roles of the person, do not permit to read. */
  notAllowed: string
  /**
   * The roles of the person who signed in, the dialog of actions, and `renewSession`. `null` if the desk was opened with
   * a token, or is a wall screen.
   */
  acting: { grants: readonly Grant[]; open(action: OpenAction): void; renew(): Promise<void> } | null
  /** Whether the page is a wall screen: larger and not interactive. */
  isWall: boolean
  onTokenRejected(): void
  /** Called after each request, with `true` if the server responded. */
  onReached(isReached: boolean): void
}

/** An action whose dialog is open. */
export interface OpenAction {
  name: ActionName
  target: unknown
  /** The name of the action's target, which the dialog shows. */
  of: string
}

export const DeskContext = createContext<Desk | null>(null)

export function useDesk(): Desk {
  return useContext(DeskContext)!
}

/** The state of a source. If the server does not respond, the state and its value are kept. */
export type Answer<T> =
  | { is: 'loading' }
  | { is: 'denied' }
  | { is: 'there'; value: T }
  | { is: 'failed'; message: string }

type AnyFacts = object
// biome-ignore lint/suspicious/noExplicitAny: the name of a source determines its type of response.
type AnySource = Source<any, any>

export type Answers<S extends Record<string, AnySource>> = {
  [N in keyof S]: Answer<S[N] extends Source<never, infer T> ? T : never>
}

/**
 * The polling interval, in milliseconds. While the page follows events, it polls only sources that failed or can change
 * without an event. While it cannot follow events, it polls all sources.
 */
const ASK_EVERY_MS = 5_000

/**
 * Loads sources and keeps them current. Reloads a source after each event that can change it, and every few seconds if
 * events are not enough (see `ASK_EVERY_MS`). Pauses while the page is hidden.
 * @param key a new key reloads everything
 * @param facts is called before each load, and returns the inputs of the sources
 */
export function useAnswers<F extends AnyFacts, S extends Record<string, Source<F, unknown>>>(
  sources: S,
  key: string,
  facts: () => F,
): Answers<S> {
  type Name = keyof S & string
  const { feed, language, scopes, onTokenRejected, onReached } = useDesk()
  const [known, setKnown] = useState<{ key: string; answers: Partial<Answers<S>> }>({ key, answers: {} })

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new key reloads everything.
  useEffect(() => {
    const names = Object.keys(sources) as Name[]
    const isAllowed = (name: Name) => sources[name]!.scope === null || scopes.includes(sources[name]!.scope)
    const readable = names.filter(isAllowed)
    /** Sources whose last load failed or is running. They are polled, because no event follows a failed load. */
    const unanswered = new Set<Name>()
    let hasEnded = false

    const set = (name: Name, answer: Answer<unknown>) => {
      if (hasEnded) return
      setKnown((before) => ({
        key,
        answers: { ...(before.key === key && before.answers), [name]: answer } as Partial<Answers<S>>,
      }))
    }
    for (const name of names) if (!isAllowed(name)) set(name, { is: 'denied' })

    const refresher: Refresher<Name> = createRefresher<Name>(async (name) => {
      try {
        unanswered.add(name)
        const value = await sources[name]!.load(facts())
        unanswered.delete(name)
        onReached(true)
        set(name, { is: 'there', value })
      } catch (error) {
        if (!(error instanceof ApiRejection)) return onReached(false)
        onReached(true)
        if (error.status === 401) return onTokenRejected()
        if (error.code === 'FORBIDDEN') {
          unanswered.delete(name)
          return set(name, { is: 'denied' })
        }
        if (error.waitMs !== null) {
          refresher.pause(error.waitMs)
          return refresher.ask([name])
        }
        set(name, { is: 'failed', message: problemOf(error, language.words).text })
      }
    })
    const askAll = () => {
      if (document.visibilityState === 'visible') refresher.ask(readable)
    }
    const askRest = () => {
      const isFollowed = (name: Name) => {
        const { isTouchedBy, isPolled } = sources[name]!
        return feed.state === 'live' && isTouchedBy && !isPolled && !unanswered.has(name)
      }
      const rest = readable.filter((name) => !isFollowed(name))
      if (document.visibilityState === 'visible') refresher.ask(rest)
    }
    refresher.ask(readable)
    const unsubscribe = feed.subscribe((event) => {
      if (event === null) return askAll()
      if (document.visibilityState !== 'visible') return
      refresher.ask(readable.filter((name) => sources[name]!.isTouchedBy?.(event.type)))
    })
    const timer = setInterval(askRest, ASK_EVERY_MS)
    document.addEventListener('visibilitychange', askAll)
    return () => {
      hasEnded = true
      refresher.end()
      unsubscribe()
      clearInterval(timer)
      document.removeEventListener('visibilitychange', askAll)
    }
  }, [key])

  const answers: Partial<Answers<S>> = known.key === key ? known.answers : {}
  return Object.fromEntries(
    Object.keys(sources).map((name) => [name, answers[name as Name] ?? { is: 'loading' }]),
  ) as Answers<S>
}

/** Returns the connection state and the latest events, and re-renders when they change. */
export function useFeed(): Pick<Feed, 'state' | 'events'> {
  const { feed } = useDesk()
  const [, setDrawn] = useState({})
  useEffect(() => {
    const draw = () => setDrawn({})
    const unsubscribe = feed.subscribe(draw)
    // Draw again. Otherwise, a change of the state between the first render and the subscription would not be shown.
    draw()
    return unsubscribe
  }, [feed])
  return feed
}
