/** @jsxImportSource preact */
import { render } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Scope } from '../../core/route.ts'
import type { DeskLanguage } from '../language.ts'
import {
  type Access,
  ApiRejection,
  createApi,
  createServerClock,
  openEvents,
  type ServerClock,
  type Session,
} from '../live/desk-api.ts'
import { createFeed, type FeedState } from '../live/feed.ts'
import { canListProjects, listProjects, type Project } from '../live/load-projects.ts'
import { problemOf } from '../live/problems.ts'
import { findSession, renewSession, signOut } from '../live/session.ts'
import { ActionDialog } from './action-dialog.tsx'
import { Board } from './board.tsx'
import { type Desk, DeskContext, type OpenAction, useDesk, useFeed } from './desk-context.ts'
import { PassSearch } from './pass-search.tsx'
import { PassView } from './pass-view.tsx'
import { TokenScreen } from './token-screen.tsx'
import { useWholeWall } from './whole-wall.ts'
import { ZoneWall } from './zones.tsx'

/** The token's key in session storage. Unlike a cookie, the token ends with the tab, and only this page sends it. */
const TOKEN_KEY = 'passes-desk-token'

export function mountDesk(element: Element, language: DeskLanguage): void {
  document.documentElement.lang = language.tag
  document.documentElement.dir = language.direction
  document.title = `passes: ${language.words.desk}`
  const isWall = wallTopic() !== null
  document.documentElement.classList.toggle('wall', isWall)
  render(<App language={language} isWall={isWall} />, element)
}

/** A validated token or session. */
interface Entry {
  access: Access
  clock: ServerClock
  scopes: readonly Scope[]
  projects: Project[]
}

function App({ language, isWall }: { language: DeskLanguage; isWall: boolean }) {
  const [access, setAccess] = useState<Access | null>(() => sessionStorage.getItem(TOKEN_KEY))
  const [entry, setEntry] = useState<Entry | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const { words } = language

  function leave(why: string | null): void {
    sessionStorage.removeItem(TOKEN_KEY)
    setAccess(null)
    setEntry(null)
    setProblem(why)
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: look for a session once, when the page opens.
  useEffect(() => {
    if (access !== null) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const find = async () => {
      try {
        const session = await findSession()
        setProblem(null)
        // Do not replace a token that the person entered while the session was loading.
        setAccess((current) => current ?? session)
      } catch (error) {
        if (error instanceof ApiRejection && error.status === 403) return setProblem(problemOf(error, words).text)
        setProblem(words.noAnswer)
        timer = setTimeout(find, 5_000)
      }
    }
    void find()
    return () => clearTimeout(timer)
  }, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the words never change.
  useEffect(() => {
    if (access === null) return
    let isCurrent = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const enter = async () => {
      try {
        const clock = createServerClock()
        const api = createApi(access, clock)
        const { scopes, projectIds } = await api.tokens.current()
        const projects = await listProjects(api, scopes, {
          boundTo: projectIds,
          wanted: namedProject(),
          isPerson: typeof access !== 'string',
        })
        if (!isCurrent) return
        if (typeof access === 'string') sessionStorage.setItem(TOKEN_KEY, access)
        setProblem(null)
        setEntry({ access, clock, scopes, projects })
      } catch (error) {
        if (!isCurrent) return
        if (error instanceof ApiRejection && error.status === 401) return leave(rejectionOf(access, language))
        if (error instanceof ApiRejection && error.status < 500 && error.status !== 429) {
          // A door's token cannot open the page. A person's session always can.
          return leave(error.code === 'FORBIDDEN' ? words.notAllowed : problemOf(error, words).text)
        }
        setProblem(words.noAnswer)
        timer = setTimeout(enter, 5_000)
      }
    }
    void enter()
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [access])

  // The screen that had the focus is gone, so move the focus to the heading, which a screen reader announces.
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the entry replaces the screen.
  useEffect(() => {
    if (document.activeElement === document.body) document.querySelector('h1')?.focus()
  }, [entry])

  if (entry)
    return (
      <Opened
        key={keyOf(entry.access)}
        entry={entry}
        language={language}
        isWall={isWall}
        onEnter={setAccess}
        onLeave={leave}
      />
    )
  return <TokenScreen language={language} problem={problem} isBusy={access !== null} onToken={setAccess} />
}

function keyOf(access: Access): string {
  return typeof access === 'string' ? access : access.csrfToken
}

function rejectionOf(access: Access, { words }: DeskLanguage): string {
  return typeof access === 'string' ? words.tokenRefused : words.sessionEnded
}

interface OpenedProps {
  entry: Entry
  language: DeskLanguage
  isWall: boolean
  onEnter(session: Session): void
  onLeave(why: string | null): void
}

function Opened({ entry, language, isWall, onEnter, onLeave }: OpenedProps) {
  const [isReached, setReached] = useState(true)
  const [action, setAction] = useState<OpenAction | null>(null)
  const [isRejected, setRejected] = useState(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another token creates another component.
  const desk = useMemo<Desk>(() => {
    const { clock, scopes } = entry
    // Copy the session, because a renewal must not change the key of this component, which would close the open dialog.
    const access = typeof entry.access === 'string' ? entry.access : { ...entry.access }
    const feed = createFeed((signal) => openEvents(access, signal), { isAllowed: scopes.includes('webhooks:read') })
    const api = createApi(access, clock)
    const onTokenRejected = () => {
      feed.end()
      setRejected(true)
    }
    const acting =
      typeof access === 'string' || isWall
        ? null
        : { grants: access.roles, open: setAction, renew: () => renewSession(access) }
    const { words } = language
    const notAllowed = typeof access === 'string' ? words.notAllowed : words.problems.notAllowed
    return { api, clock, feed, language, scopes, notAllowed, acting, isWall, onTokenRejected, onReached: setReached }
  }, [])
  useEffect(() => () => desk.feed.end(), [desk])
  // Keep an open dialog, so that the person can sign in again in another tab, and complete the action.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another token creates another component.
  useEffect(() => {
    if (isRejected && action === null) void leaveOrContinue()
  }, [isRejected, action])
  useWholeWall(isWall)
  const [projectId, setProjectId] = useState(() => chosenAtFirst(entry.projects))
  const passId = usePassId()
  const { words } = language
  const name = entry.projects.find(({ id }) => id === projectId)?.name

  /** Continues with a session that the person started in another tab. */
  async function leaveOrContinue(): Promise<void> {
    const { access } = entry
    const session = typeof access === 'string' ? null : await findSession().catch(() => null)
    if (session !== null && keyOf(session) !== keyOf(access)) onEnter(session)
    else onLeave(rejectionOf(access, language))
  }

  async function leave(): Promise<void> {
    const address = typeof entry.access === 'string' ? null : await signOut(entry.access)
    onLeave(null)
    if (address !== null) location.assign(address)
  }

  function choose(id: string): void {
    setProjectId(id)
    nameProject(id)
  }

  return (
    <DeskContext.Provider value={desk}>
      <header>
        <h1 tabIndex={-1}>
          {words.desk}
          {isWall && name && (
            <>
              {' · '}
              <bdi>{name}</bdi>
            </>
          )}
        </h1>
        <Connection />
        {!isWall && (
          <>
            <label>
              {words.project}
              <select value={projectId ?? ''} onChange={({ currentTarget }) => choose(currentTarget.value)}>
                {entry.projects.map(({ id, name }) => (
                  <option key={id} value={id}>
                    {name}
                  </option>
                ))}
              </select>
            </label>
            <PassSearch />
            <button type="button" onClick={() => void leave().catch(() => setReached(false))}>
              {typeof entry.access === 'string' ? words.forget : words.signOut}
            </button>
          </>
        )}
      </header>
      <main tabIndex={-1}>
        <div role="alert">{!isReached && <p class="problem">{words.noAnswer}</p>}</div>
        {isRejected ? (
          <p class="problem">{rejectionOf(entry.access, language)}</p>
        ) : passId !== null && !isWall ? (
          <PassView key={passId} passId={passId} />
        ) : projectId === null ? (
          <p class="muted">{canListProjects(desk.scopes) ? words.nothing : desk.notAllowed}</p>
        ) : wallTopic() === 'zones' ? (
          <ZoneWall key={projectId} projectId={projectId} />
        ) : (
          <Board key={projectId} projectId={projectId} />
        )}
      </main>
      {action !== null && <ActionDialog opened={action} onClose={() => setAction(null)} />}
    </DeskContext.Provider>
  )
}

function Connection() {
  const { words } = useDesk().language
  const { state } = useFeed()
  const stateText: Record<FeedState, string> = {
    connecting: words.loading,
    live: words.live,
    asking: words.asking,
    lost: words.asking,
  }
  return (
    <p class={`connection ${state}`} role="status">
      {stateText[state]}
    </p>
  )
}

/** Returns the topic of a wall screen: zones, or empty for all topics. Returns `null` if the page is not on a wall. */
function wallTopic(): string | null {
  return new URLSearchParams(location.search).get('wall')
}

/** Returns the project in the query. It is set on a wall screen, and after a project was selected. */
function namedProject(): string | null {
  return new URLSearchParams(location.search).get('project')
}

/** Writes the project to the address, so that a reload shows the same page. Closes the pass view. */
function nameProject(id: string): void {
  if (location.hash !== '') location.hash = '#board'
  const address = new URL(location.href)
  address.searchParams.set('project', id)
  history.replaceState(history.state, '', address)
}

function chosenAtFirst(projects: Project[]): string | null {
  const named = namedProject()
  const found = projects.find(({ id, name }) => id === named || name === named) ?? projects[0]
  return found?.id ?? null
}

/**
 * Returns the ID of the shown pass. The fragment of the address stores the ID, so that the browser's back button works.
 */
function usePassId(): string | null {
  const [passId, setPassId] = useState(readPassId)
  useEffect(() => {
    const onChange = () => setPassId(readPassId())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return passId
}

function readPassId(): string | null {
  return /^#pass=([0-9a-f-]{36})$/i.exec(location.hash)?.[1] ?? null
}
