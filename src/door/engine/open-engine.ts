import { FEW_REPORTS } from '../../core/bounds.ts'
import type { Door } from '../../core/contract/doors.ts'
import type { DoorGroup } from '../../core/contract/scan-shapes.ts'
import { groupOf } from '../../core/rules/door/evaluate-offline.ts'
import { candidateOfItem, searchByName } from '../../core/rules/door/matches.ts'
import type { Candidate } from '../../core/rules/door/outcome.ts'
import { createDoorClock } from './clock.ts'
import { type Connection, createConnection } from './connection.ts'
import { type Known, lossOf, markerOf, nothingStored, stateOf } from './door-state.ts'
import type { DoorEngine, EngineState, Problem } from './engine.ts'
import type { EngineEnvironment } from './environment.ts'
import { fetchList } from './lists.ts'
import { createScanner, pause } from './scanner.ts'
import { claimFailure, createDoorServer, identityOf } from './server.ts'
import { type Identity, type NamedItem, StorageFullError } from './store.ts'
import { type UploadEnd, uploadWaiting } from './uploads.ts'

/**
 * A list is asked for what changed as often, and again that soon where there is none. With the time between two looks at the
 * server it is less than a list of all doors stands for, so that each goes from one of those to the next (decision 0052).
 */
const REFRESH_MS = 15_000
const FETCH_AGAIN_MS = 3_000
/** What a phone had stored, or was left with by the network, is renewed within so long, each phone at another moment. */
const FIRST_REFRESH_MS = 10_000
/** One that takes long takes its server long as well: it rests for so many times as long. */
const REST_FACTOR = 20
/** So long a scan waits for the last ones that are handed in; then the list decides it. */
const REST_MS = 500

/** Opens the door of this phone, whether it is one yet or not: see DoorEngine. */
export async function openEngine(environment: EngineEnvironment): Promise<DoorEngine> {
  const { withLock, random, isVisible } = environment
  let store = await environment.openStore(() => void lost())
  let stored = nothingStored
  const problems = new Map<Problem['code'], Problem>()
  const known: Known = {
    identity: await store.identity(),
    connection: { connection: 'unknown', offlineSince: null },
    loading: null,
    waiting: 0,
    isPersistent: null,
    problems,
    clockOffsetMs: 0,
  }
  const clock = createDoorClock(environment, (await store.clockOffset()) ?? 0, () => {
    quietly(store.setClockOffset(clock.offsetMs))
    publish()
  })
  const server = createDoorServer({
    fetch: environment.fetch,
    baseUrl: environment.baseUrl,
    version: environment.version,
    clock,
    monotonicMs: environment.monotonicMs,
    token: () => known.identity?.token,
    pending: () => state.pending,
    language: () => environment.language().locale,
    onUnauthorized: (token) => void revoked(token),
    onUnderstood: (isUnderstood) => set('server_too_old', isUnderstood ? null : { code: 'server_too_old' }),
  })
  const listeners = new Set<(state: EngineState) => void>()
  let state = stateOf(stored, known)
  let connection: Connection | undefined
  let stopped = new AbortController()
  let fetching: Promise<void> | undefined
  let fetchFrom = 0
  let names: Promise<readonly NamedItem[]> | undefined
  let refreshing: Promise<void> | undefined
  /** The server made this phone a door, and there was no room to store it: the same code need not be used again. */
  let unstored: { code: string; identity: Identity } | undefined

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
    if (stored.list?.id !== listBefore) names = undefined
    if (!problems.has('storage_lost')) environment.marker.set(markerOf(known.identity, stored.waiting))
    publish()
  }

  /** Of what only makes the screen fresher, or is done again soon. */
  function quietly(work: Promise<unknown>): void {
    work.catch((error) => {
      if (error instanceof StorageFullError) set('storage_full', { code: 'storage_full' })
    })
  }

  /** Browsers that did not promise it at first may, once the page was used for a while or stands on the home screen. */
  async function askToKeep(): Promise<void> {
    known.isPersistent = await environment.persist()
    publish()
  }

  function connect(): void {
    const { signal } = stopped
    connection = createConnection({
      now: clock.now,
      random,
      isVisible,
      quietMs: server.quietMs,
      isDue: () => !fetching && environment.monotonicMs() >= fetchFrom,
      async probe(stop) {
        const reply = await server.self(stop)
        if (reply.kind === 'answer' && reply.value) await learn(reply.value)
        const isRefused = reply.kind === 'refusal' && reply.status === 403
        set('refused', isRefused ? { code: 'refused', message: reply.message } : null)
        return reply.kind !== 'silence'
      },
      upload: (stop) => upload(stop, { leave: FEW_REPORTS }),
      uploadRest: (stop) => scanner.between(() => Promise.race([upload(stop, { leave: 0 }), pause(REST_MS)])),
      hasUploaded: () => scanner.between(async () => (await waitingHere(1)).length === 0),
      onChange() {
        const wasOffline = state.connection === 'offline'
        publish()
        if (connection?.state !== 'online') return
        if (wasOffline) refreshSoon()
        void freshen(signal)
      },
      onError: () => undefined,
    })
  }

  /** All doors of a place come back at once, and each has much to fetch. */
  function refreshSoon(): void {
    if (stored.list) fetchFrom = Math.max(fetchFrom, environment.monotonicMs() + random() * FIRST_REFRESH_MS)
  }

  async function waitingHere(limit: number) {
    return known.identity ? store.waiting(known.identity.door.projectId, limit) : []
  }

  function upload(signal: AbortSignal, { leave }: { leave: number }): Promise<UploadEnd> {
    return withLock('upload', async () => {
      if (!known.identity) return { kind: 'done' }
      const { projectId } = known.identity.door
      const onProgress = () => quietly(refresh())
      const end = await uploadWaiting({ store, server, projectId, signal, leave, now: () => clock.now(), onProgress })
      await refresh()
      return end
    })
  }

  async function learn({ name, gate, projectId, projectName, id }: Door): Promise<void> {
    const { identity } = known
    const door = { id, name, gate, projectId, projectName }
    if (!identity || identity.door.id !== id || JSON.stringify(identity.door) === JSON.stringify(door)) return
    known.identity = { ...identity, door }
    await store.setIdentity(known.identity)
  }

  /** Brings the list up to date where it is time, one tab at a time. */
  function freshen(signal: AbortSignal): Promise<void> {
    if (fetching || environment.monotonicMs() < fetchFrom || signal.aborted || !known.identity)
      return fetching ?? Promise.resolve()
    const { projectId } = known.identity.door
    const startedAt = environment.monotonicMs()
    const onProgress = (loaded: number) => {
      known.loading = loaded
      publish()
    }
    let isThere = false
    fetching = withLock('list', () => fetchList({ store, server, projectId, signal, onProgress }))
      .then(async (end) => {
        if (end === 'offline_disabled') await store.dropList()
        set('offline_disabled', end === 'offline_disabled' ? { code: 'offline_disabled' } : null)
        names = undefined
        isThere = end === 'done' || end === 'offline_disabled'
      })
      .catch((error) => {
        if (error instanceof StorageFullError) set('storage_full', { code: 'storage_full' })
      })
      .finally(() => {
        fetching = undefined
        known.loading = null
        const now = environment.monotonicMs()
        const rest = Math.max(REFRESH_MS, (now - startedAt) * REST_FACTOR)
        fetchFrom = now + (isThere ? rest : FETCH_AGAIN_MS)
        quietly(refresh())
      })
    return fetching
  }

  async function disconnect(): Promise<void> {
    stopped.abort()
    await Promise.all([connection?.stop(), fetching])
    stopped = new AbortController()
    connection = undefined
    known.connection = { connection: 'unknown', offlineSince: null }
  }

  /** The token ends here and now; what waits stays for the next door of the project. */
  async function revoked(token: string): Promise<void> {
    if (known.identity?.token !== token) return
    known.identity = undefined
    set('revoked', { code: 'revoked' })
    await endDoor()
  }

  async function endDoor(): Promise<void> {
    known.identity = undefined
    const ended = disconnect()
    await scanner.between(() => store.wipe())
    await ended
    // A page of a list may have come in between.
    await store.wipe()
    await refresh()
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

  const loss = lossOf(environment.marker.get(), known.identity)
  if (loss !== null) problems.set('storage_lost', { code: 'storage_lost', pending: loss })
  await refresh()
  const endWake = environment.onWake(() => connection?.retry())
  refreshSoon()
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
    async claim(code, name) {
      let identity = unstored?.code === code ? unstored.identity : undefined
      if (!identity) {
        const reply = await server.claim({ code, name })
        if (reply.kind !== 'answer') return claimFailure(reply, problems.has('server_too_old'))
        identity = identityOf(reply.value)
        unstored = { code, identity }
      }
      try {
        if (known.identity) await endDoor()
        await store.dropList()
        await store.setIdentity(identity)
      } catch (error) {
        if (!(error instanceof StorageFullError)) throw error
        set('storage_full', { code: 'storage_full' })
        return { code: 'storage_full', message: error.message }
      }
      unstored = undefined
      known.identity = identity
      for (const code of ['revoked', 'storage_lost', 'storage_full', 'refused'] as const) problems.delete(code)
      fetchFrom = 0
      await askToKeep()
      await refresh()
      connect()
      return null
    },
    scan: scanner.scan,
    async scanAll(passIds, options) {
      return Promise.all(passIds.map((passId) => scanner.scan({ ...options, passId, method: 'chosen' })))
    },
    undo: scanner.undo,
    async search(text, limit): Promise<Candidate[]> {
      names ??= store.names()
      return searchByName(await names, text, limit).map(candidateOfItem)
    },
    look(passId) {
      return store.look(passId, (facts): { candidate: Candidate; group: DoorGroup | null } => {
        const [item] = facts.matches.items
        const attempt = { at: clock.now(), scanContextKey: null }
        return { candidate: candidateOfItem(item!), group: groupOf(item!, attempt, { ...facts, isAccepted: false }) }
      })
    },
    async gates() {
      const today = clock.now()
      today.setHours(0, 0, 0, 0)
      return known.identity && server.gates(known.identity.door.projectId, today)
    },
    retry: () => connection?.retry(),
    async dismiss(code) {
      if (code === 'rejected') await store.dismissRejections()
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
    async stop() {
      endWake()
      await disconnect()
      await scanner.between(async () => undefined)
      await refreshing
      await store.close()
    },
  }
}
