import { createDoorClock } from './clock.ts'
import { type Connection, createConnection, initialState } from './connection.ts'
import { createCounter } from './counter.ts'
import { type Known, markedProblems, markerOf, stateOf } from './door-state.ts'
import type { ClaimFailure, DoorEngine, EngineState, Problem } from './engine.ts'
import type { EngineEnvironment } from './environment.ts'
import { createListKeeper, createLookUp, OFFLINE_DISABLED } from './lists.ts'
import { createOwnDoor } from './own-door.ts'
import { createQueue } from './queue.ts'
import { createScanner } from './scanner.ts'
import { claimFailure, createDoorServer, type EngineContext, identityOf } from './server.ts'
import { type Identity, StorageFullError } from './store/engine-store.ts'
import { createUploads } from './uploads.ts'

/** The problems that concern only one door. They are cleared when this phone starts as another door. */
const OF_A_DOOR = ['revoked', 'storage_lost', 'storage_full', 'refused'] as const

/** Opens the engine of this phone, whether the phone is a door or not: see DoorEngine. */
export async function openEngine(environment: EngineEnvironment): Promise<DoorEngine> {
  const { settings, random, isVisible } = environment
  let store = await environment.openStore(() => void lost())
  let stored = await store.summary()
  const problems = new Map<Problem['code'], Problem>()
  const identity = await store.identity()
  const known: Known = {
    identity: environment.identity ? { ...environment.identity, deletedExit: identity?.deletedExit } : identity,
    connection: { connection: 'unknown', offlineSince: null },
    loading: null,
    listRejection: null,
    uploadRejection: null,
    isPersistent: null,
    isElsewhereRead: false,
    problems,
    clockOffsetMs: 0,
  }
  const clock = createDoorClock(environment, (await store.clockOffset()) ?? 0, () => {
    quietly(store.setClockOffset(clock.offsetMs))
    publish()
  })
  const server = createDoorServer(environment, {
    clock,
    token: () => known.identity?.token,
    pending: () => state.pending,
    onUnauthorized: (token) => void revoked(token),
    onUnderstood: (isUnderstood) => set('server_too_old', isUnderstood ? null : { code: 'server_too_old' }),
  })
  const { run: between, stop: stopScanning } = createQueue()
  const listeners = new Set<(state: EngineState) => void>()
  let state = stateOf(stored, known)
  let connection: Connection | undefined
  let stopped = new AbortController()
  let refreshing: Promise<void> | undefined
  /** A claimed door that could not be stored. Another attempt with the same code uses it instead of a new claim. */
  let unstored: { code: string; identity: Identity } | undefined
  let isClaiming = false
  /** Resolves when the previous door is disconnected and its stored data is removed. */
  let ending: Promise<void> | undefined

  const context: EngineContext = {
    environment,
    server,
    clock,
    store: () => store,
    identity: () => known.identity,
    connection: () => connection,
    stored: () => stored,
    refresh: () => quietly(refresh()),
    between,
    onStored,
    unlessFull,
    tryToStore,
  }
  const { forgetNames, ...lookUp } = createLookUp(context)
  const { sync, endZone, forgetDeletedZone, ...ownDoor } = createOwnDoor(context, (identity) => {
    known.identity = identity
    publish()
    return store.setIdentity(identity).catch(reportError)
  })
  const lists = createListKeeper(context, {
    onLoading(loaded) {
      known.loading = loaded
      if (loaded !== null) return publish()
      // Read the names for searches again even if the update was interrupted, because some passes may have changed.
      forgetNames()
      quietly(refresh())
    },
    onFetched(rejection) {
      known.listRejection = rejection?.message ?? null
      set('offline_disabled', rejection?.code === OFFLINE_DISABLED ? { code: 'offline_disabled' } : null)
    },
    onError: reportError,
  })
  const scans = createScanner(context, endZone)
  const uploads = createUploads(context, (rejection) => {
    known.uploadRejection = rejection
    return refresh()
  })
  const counter = createCounter(context)

  function onStored(): void {
    set('storage_full', null)
    quietly(refresh())
  }

  function unlessFull<T>(work: () => Promise<T>, otherwise: T): Promise<T> {
    return work().catch((error) => {
      if (!(error instanceof StorageFullError)) throw error
      reportError(error)
      quietly(refresh())
      return otherwise
    })
  }

  function tryToStore(work: () => Promise<void>): Promise<boolean> {
    return unlessFull(() => work().then(() => true), false)
  }

  function publish(): void {
    known.clockOffsetMs = clock.offsetMs
    if (connection) known.connection = { connection: connection.state, offlineSince: connection.offlineSince }
    state = stateOf(stored, known)
    for (const listener of listeners) listener(state)
  }

  function set(code: Problem['code'], problem: Problem | null): void {
    if (!problem && !problems.has(code)) return
    if (problem) problems.set(code, problem)
    else problems.delete(code)
    publish()
  }

  /** Reads the stored data. Resolves once the state includes all data stored before the call. */
  async function refresh(): Promise<void> {
    await refreshing
    refreshing ??= readStored().finally(() => {
      refreshing = undefined
    })
    await refreshing
  }

  async function readStored(): Promise<void> {
    const listBefore = stored.list?.id
    stored = await store.summary()
    if (stored.list?.id !== listBefore) forgetNames()
    if (!problems.has('storage_lost')) mark()
    publish()
  }

  function mark(): void {
    environment.marker.set(markerOf(known.identity, stored.waiting, problems.has('revoked')))
  }

  /** Ignores errors, except that storage is full. For work that only refreshes the screen, or is repeated soon. */
  function quietly(work: Promise<unknown>): void {
    work.catch(reportError)
  }

  function reportError(error: unknown): void {
    if (error instanceof StorageFullError) set('storage_full', { code: 'storage_full' })
  }

  /** Asks the browser to keep the stored data. A browser that refused at first can agree after some use. */
  async function askToKeep(): Promise<void> {
    known.isPersistent = await environment.persist()
    publish()
  }

  function connect(): void {
    const { signal } = stopped
    connection = createConnection({
      initially: initialState(settings.isReached, state.pending),
      lastContact: state.list?.generatedAt ?? clock.now(),
      pollMs: settings.pollMs,
      now: clock.now,
      random,
      isVisible,
      quietMs: server.quietMs,
      isDue: () => lists.isDue() || state.pending > 0,
      async probe(stop) {
        const reply = await sync(stop)
        const isRejected = reply.kind === 'rejection' && reply.status === 403
        set('refused', isRejected ? { code: 'refused', message: reply.message } : null)
        return reply.kind !== 'timeout'
      },
      ...uploads,
      onChange() {
        const wasOffline = state.connection === 'offline'
        publish()
        if (connection?.state !== 'online') return
        if (wasOffline && stored.list) lists.askSoon()
        void lists.freshen(signal)
      },
      onError: reportError,
    })
  }

  async function disconnect(): Promise<void> {
    stopped.abort()
    await Promise.all([connection?.stop(), lists.ended()])
    stopped = new AbortController()
    connection = undefined
    known.connection = { connection: 'unknown', offlineSince: null }
  }

  /** Removes the door whose token was rejected. Pending entries stay for this phone's next door of the same project. */
  async function revoked(token: string): Promise<void> {
    if (known.identity?.token !== token) return
    const ended = endDoor()
    set('revoked', { code: 'revoked' })
    // Write the marker first. Otherwise, a page that is reloaded in between would not know that the door was revoked.
    mark()
    await ended
    await follow()
  }

  function endDoor(): Promise<void> {
    const token = known.identity?.token
    known.identity = undefined
    const end = async () => {
      const ended = disconnect()
      await between(() => store.wipe(token))
      await ended
      // Wipe again, because the download can have stored a page of the list before it stopped.
      await store.wipe(token)
      await refresh()
    }
    ending = end()
    return ending
  }

  async function claim(code: string, name: string): Promise<ClaimFailure | null> {
    isClaiming = true
    // Upload pending entries first. Otherwise, the next door on this phone would have to upload them as its own
    // entries, or could not upload them at all if they belong to another project.
    if (known.identity && state.pending > 0) await connection?.flush()
    let identity = unstored?.code === code ? unstored.identity : undefined
    if (!identity) {
      const reply = await server.claim({ code, name })
      if (reply.kind !== 'answer') return claimFailure(reply, problems.has('server_too_old'))
      identity = identityOf(reply.value)
      unstored = { code, identity }
    }
    const replace = async () => {
      if (known.identity) await endDoor()
      // Wait until the data of a previous door, such as a revoked door, is removed. Otherwise, the removal would also
      // delete the data of the new door.
      await Promise.allSettled([ending])
      await store.dropList()
      await store.setIdentity(identity)
    }
    if (!(await tryToStore(replace))) return { code: 'storage_full' }
    unstored = undefined
    known.identity = identity
    await askToKeep()
    await begin()
    return null
  }

  /** If another tab has made this phone a door, for example with an invitation link, continues as that door. */
  async function follow(): Promise<void> {
    await Promise.allSettled([ending])
    const isAnother = await between(async () => {
      const identity = await store.identity()
      if (isClaiming || !identity || identity.token === known.identity?.token) return false
      known.identity = identity
      return true
    })
    if (isAnother) await begin()
  }

  /** Starts as the door that this phone has just become. */
  async function begin(): Promise<void> {
    await disconnect()
    for (const code of OF_A_DOOR) problems.delete(code)
    known.isElsewhereRead = false
    lists.askNow()
    await refresh()
    connect()
  }

  /** Handles a database that the browser closed, for example because it removed the data. */
  async function lost(): Promise<void> {
    const { pending } = state
    const hadDoor = known.identity !== undefined
    store = await environment.openStore(() => void lost())
    known.identity = await store.identity()
    if (hadDoor && !known.identity) {
      set('storage_lost', { code: 'storage_lost', pending })
      await disconnect()
    }
    await refresh()
  }

  for (const problem of markedProblems(environment.marker.get(), known.identity)) problems.set(problem.code, problem)
  await refresh()
  const endWake = environment.onWake(() => {
    connection?.retry()
    quietly(follow())
  })
  if (stored.list) lists.askSoon()
  if (known.identity) {
    connect()
    quietly(askToKeep())
  }

  return {
    get state() {
      return state
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    claim: (code, name) =>
      claim(code, name).finally(() => {
        isClaiming = false
      }),
    ...ownDoor,
    ...counter,
    ...scans,
    ...lookUp,
    retry: () => connection?.retry(),
    async dismiss(code) {
      if (code === 'zone_deleted') return forgetDeletedZone()
      if (code === 'rejected') await store.dismissRejections()
      if (code === 'pending_elsewhere') known.isElsewhereRead = true
      problems.delete(code)
      await refresh()
    },
    async forget() {
      await connection?.flush()
      await endDoor()
      problems.delete('storage_lost')
      await refresh()
      return state.pending
    },
    async flush() {
      await connection?.flush()
      await lists.ended()
      await refresh()
    },
    async stop() {
      endWake()
      await Promise.all([disconnect(), stopScanning()])
      await refreshing
      await store.close()
    },
  }
}
