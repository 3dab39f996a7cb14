import { createDoorClock } from './clock.ts'
import { type Connection, createConnection, initialState } from './connection.ts'
import { createOwnDoor, type Known, markedProblems, markerOf, nothingStored, stateOf } from './door-state.ts'
import type { ClaimFailure, DoorEngine, EngineState, Problem } from './engine.ts'
import type { EngineEnvironment } from './environment.ts'
import { createListKeeper, OFFLINE_DISABLED } from './lists.ts'
import { createLookUp } from './look-up.ts'
import { createScanner } from './scanner.ts'
import { claimFailure, createDoorServer, identityOf } from './server.ts'
import { type Identity, StorageFullError } from './store.ts'
import { createUploads } from './uploads.ts'

/** Problems that are over when the phone becomes another door. */
const OF_A_DOOR = ['revoked', 'storage_lost', 'storage_full', 'refused'] as const

/** Opens the door of this phone, whether it is one yet or not: see DoorEngine. */
export async function openEngine(environment: EngineEnvironment): Promise<DoorEngine> {
  const { settings, random, isVisible } = environment
  let store = await environment.openStore(() => void lost())
  let stored = nothingStored
  const problems = new Map<Problem['code'], Problem>()
  const known: Known = {
    identity: await store.identity(),
    connection: { connection: 'unknown', offlineSince: null },
    loading: null,
    listRejection: null,
    uploadRejection: null,
    waiting: 0,
    isPersistent: null,
    isElsewhereRead: false,
    problems,
    clockOffsetMs: 0,
  }
  const clock = createDoorClock(environment, (await store.clockOffset()) ?? 0, () => {
    quietly(store.setClockOffset(clock.offsetMs))
    publish()
  })
  const server = createDoorServer({
    settings,
    fetch: environment.fetch,
    baseUrl: environment.baseUrl,
    version: environment.version,
    clock,
    monotonicMs: environment.monotonicMs,
    token: () => known.identity?.token,
    pending: () => state.pending,
    language: () => environment.language(),
    onUnauthorized: (token) => void revoked(token),
    onUnderstood: (isUnderstood) => set('server_too_old', isUnderstood ? null : { code: 'server_too_old' }),
  })
  const listeners = new Set<(state: EngineState) => void>()
  let state = stateOf(stored, known)
  let connection: Connection | undefined
  let stopped = new AbortController()
  let refreshing: Promise<void> | undefined
  /** The server made this phone a door, and there was no room to store it: the same code need not be used again. */
  let unstored: { code: string; identity: Identity } | undefined
  let isClaiming = false
  /** The end of the last door, which removes what that had stored. */
  let ending: Promise<void> | undefined

  const lookUp = createLookUp({ store: () => store, server, clock, identity: () => known.identity })
  const ownDoor = createOwnDoor({ server, known, publish, keep: (door) => store.setIdentity(door).catch(told) })
  const lists = createListKeeper({
    store: () => store,
    server,
    environment,
    identity: () => known.identity,
    onLoading(loaded) {
      known.loading = loaded
      if (loaded !== null) return publish()
      // Also one that broke off has changed passes.
      lookUp.forgetNames()
      quietly(refresh())
    },
    onFetched(rejection) {
      known.listRejection = rejection?.message ?? null
      set('offline_disabled', rejection?.code === OFFLINE_DISABLED ? { code: 'offline_disabled' } : null)
    },
    onError: told,
  })
  const uploads = createUploads({
    store: () => store,
    server,
    environment,
    identity: () => known.identity,
    now: clock.now,
    onProgress: () => quietly(refresh()),
    onEnd(rejection) {
      known.uploadRejection = rejection
      return refresh()
    },
  })
  const scanner = createScanner({
    store: () => store,
    server,
    clock,
    environment,
    identity: () => known.identity,
    hasList: () => stored.list !== null,
    connection: () => connection,
    onWaiting(waiting) {
      known.waiting = waiting
      publish()
    },
    onStored(isFull) {
      set('storage_full', isFull ? { code: 'storage_full' } : null)
      quietly(refresh())
    },
  })

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

  /** Reads what is stored, once more where it changes meanwhile; resolves when what was there at the call is seen. */
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
    if (stored.list?.id !== listBefore) lookUp.forgetNames()
    if (!problems.has('storage_lost')) mark()
    publish()
  }

  function mark(): void {
    environment.marker.set(markerOf(known.identity, stored.waiting, problems.has('revoked')))
  }

  /** Of what only makes the screen fresher, or is done again soon. */
  function quietly(work: Promise<unknown>): void {
    work.catch(told)
  }

  function told(error: unknown): void {
    if (error instanceof StorageFullError) set('storage_full', { code: 'storage_full' })
  }

  /** Browsers that did not promise it at first may, once the page was used for a while or stands on the home screen. */
  async function askToKeep(): Promise<void> {
    known.isPersistent = await environment.persist()
    publish()
  }

  function connect(): void {
    const { signal } = stopped
    connection = createConnection({
      initially: initialState(settings.isReached, state.pending),
      pollMs: settings.pollMs,
      now: clock.now,
      random,
      isVisible,
      quietMs: server.quietMs,
      isDue: lists.isDue,
      async probe(stop) {
        const reply = await server.self(stop)
        if (reply.kind === 'answer' && reply.value) await ownDoor.learn(reply.value)
        const isRefused = reply.kind === 'rejection' && reply.status === 403
        set('refused', isRefused ? { code: 'refused', message: reply.message } : null)
        return reply.kind !== 'timeout'
      },
      upload: uploads.uploadMost,
      uploadRest: (stop) => scanner.between(() => uploads.uploadRest(stop)),
      hasUploaded: () => scanner.between(uploads.areDone),
      onChange() {
        const wasOffline = state.connection === 'offline'
        publish()
        if (connection?.state !== 'online') return
        if (wasOffline && stored.list) lists.askSoon()
        void lists.freshen(signal)
      },
      onError: () => undefined,
    })
  }

  async function disconnect(): Promise<void> {
    stopped.abort()
    await Promise.all([connection?.stop(), lists.ended()])
    stopped = new AbortController()
    connection = undefined
    known.connection = { connection: 'unknown', offlineSince: null }
  }

  /** The token ends here and now; what waits stays for the next door of the project. */
  async function revoked(token: string): Promise<void> {
    if (known.identity?.token !== token) return
    const ended = endDoor()
    set('revoked', { code: 'revoked' })
    // A page that is reloaded before all is removed still knows why.
    mark()
    await ended
    await follow()
  }

  function endDoor(): Promise<void> {
    const token = known.identity?.token
    known.identity = undefined
    const end = async () => {
      const ended = disconnect()
      await scanner.between(() => store.wipe(token))
      await ended
      // A page of a list may have come in between.
      await store.wipe(token)
      await refresh()
    }
    ending = end()
    return ending
  }

  async function claim(code: string, name: string): Promise<ClaimFailure | null> {
    isClaiming = true
    // By the next door's token it could only be handed in as that door's, and not at all for another project.
    if (known.identity && state.pending > 0) await connection?.flush()
    let identity = unstored?.code === code ? unstored.identity : undefined
    if (!identity) {
      const reply = await server.claim({ code, name })
      if (reply.kind !== 'answer') return claimFailure(reply, problems.has('server_too_old'))
      identity = identityOf(reply.value)
      unstored = { code, identity }
    }
    try {
      if (known.identity) await endDoor()
      // One that was revoked just now must not take the new one with it.
      await Promise.allSettled([ending])
      await store.dropList()
      await store.setIdentity(identity)
    } catch (error) {
      if (!(error instanceof StorageFullError)) throw error
      set('storage_full', { code: 'storage_full' })
      return { code: 'storage_full', message: error.message }
    }
    unstored = undefined
    known.identity = identity
    await askToKeep()
    await begin()
    return null
  }

  /** Goes on as the door that another tab has made of this phone, such as the one that its camera opened a link in. */
  async function follow(): Promise<void> {
    await Promise.allSettled([ending])
    const isAnother = await scanner.between(async () => {
      const identity = await store.identity()
      if (isClaiming || !identity || identity.token === known.identity?.token) return false
      known.identity = identity
      return true
    })
    if (isAnother) await begin()
  }

  /** Begins as the door that this phone has just become. */
  async function begin(): Promise<void> {
    await disconnect()
    for (const code of OF_A_DOOR) problems.delete(code)
    known.isElsewhereRead = false
    lists.askNow()
    await refresh()
    connect()
  }

  /** The browser closed the database, as it does where it removes what is stored. */
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
    moveTo: ownDoor.moveTo,
    scan: scanner.scan,
    async scanAll(passIds, options) {
      return Promise.all(passIds.map((passId) => scanner.scan({ ...options, passId, method: 'chosen' })))
    },
    undo: scanner.undo,
    search: lookUp.search,
    look: lookUp.look,
    gates: lookUp.gates,
    retry: () => connection?.retry(),
    async dismiss(code) {
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
    },
    async stop() {
      endWake()
      await Promise.all([disconnect(), scanner.stop()])
      await refreshing
      await store.close()
    },
  }
}
