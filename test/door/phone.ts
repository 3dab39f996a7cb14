import 'fake-indexeddb/auto'
import { contract } from '../../src/core/contract/contract.ts'
import { newId } from '../../src/core/ids.ts'
import { identifierDigest } from '../../src/core/rules/crypto/scan-code.ts'
import { doorEnglish } from '../../src/core/rules/redemption/scan-message.ts'
import type { Decision, DoorEngine } from '../../src/door/engine/engine.ts'
import { createProcessLock, type EngineEnvironment, phoneSettings } from '../../src/door/engine/environment.ts'
import { openEngine } from '../../src/door/engine/open-engine.ts'
import { StorageFullError } from '../../src/door/engine/store/engine-store.ts'
import { openIndexedDb } from '../../src/door/engine/store/indexed-db.ts'
import { type EngineStore, TableStore } from '../../src/door/engine/store/table-store.ts'
import type { TestWorkspace } from '../support/api.ts'

/**
 * The state of a phone's network: requests arrive, are not sent, arrive without a response, or reach an older server.
 */
export type Network = 'up' | 'down' | 'deaf' | 'older'

let phones = 0
/** Whether a page is alive, by the ID of its runner. */
const running = new Map<string, () => boolean>()

/** A phone of a door in this process, with a separate database and network. */
export class Phone {
  readonly workspace: TestWorkspace
  readonly id = newId(new Date())
  /** The name of the browser's database. */
  readonly database: string
  network: Network = 'up'
  marker: string | null = null
  /** The lead of its clock over the server's, in milliseconds. */
  clockSkewMs = 0
  /** The IANA time zone of the phone. */
  zone: string | undefined
  /** The number of steps until the engine is killed. Infinity: it is not killed. */
  stepsToLive = Number.POSITIVE_INFINITY
  /** Whether the browser promises to keep stored data. */
  isKept = true
  /** Whether its stores report that they are full. */
  isFull = false
  onLost: () => void = () => undefined
  /** Runs before each method of the store. */
  beforeStore: (name: keyof EngineStore) => Promise<void> = async () => undefined
  /** Called when the page becomes visible again. */
  wake: () => void = () => undefined
  /** Called with each request that the phone sends. */
  onRequest: (request: Request) => void = () => undefined
  engine!: DoorEngine
  #generation = 0
  #died: () => void = () => undefined

  /** @param tabOf another page of the same phone */
  constructor(workspace: TestWorkspace, tabOf?: Phone) {
    phones += 1
    this.workspace = workspace
    this.database = tabOf?.database ?? `phone-${phones}`
  }

  /** Reloads the page. Pending work of the previous page is stopped. */
  async open(): Promise<DoorEngine> {
    this.#generation += 1
    this.stepsToLive = Number.POSITIVE_INFINITY
    this.engine = await openEngine(this.#environment(this.#generation))
    return this.engine
  }

  /** Kills the page after the given number of steps. Resolves when it is killed. */
  dieAfter(steps: number): Promise<void> {
    this.stepsToLive = steps / 2
    return new Promise((resolve) => {
      this.#died = resolve
    })
  }

  /** Whether the phone made a decision. */
  made({ externalRef }: Decision): boolean {
    return this.engine.state.recent.some((decision) => decision.externalRef === externalRef)
  }

  /** Resolves when the engine is in the state. */
  until(isThere: (state: DoorEngine['state']) => boolean): Promise<void> {
    return new Promise((resolve) => {
      if (isThere(this.engine.state)) return resolve()
      const end = this.engine.subscribe((state) => {
        if (!isThere(state)) return
        end()
        resolve()
      })
    })
  }

  /** Restores the network and waits until all decisions are uploaded. */
  async settle(): Promise<void> {
    this.network = 'up'
    this.engine.retry()
    await this.until(({ connection, pending }) => connection === 'online' && pending === 0)
  }

  /** Revokes the token of this door. */
  async revoke(): Promise<void> {
    await this.workspace.ok(contract.doors.revoke, { params: { id: this.engine.state.door!.id } })
  }

  /** Removes the database, like a browser that needs space. */
  evict(): Promise<void> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.deleteDatabase(this.database)
      request.onsuccess = () => resolve()
      request.onerror = () => reject(request.error)
    })
  }

  #environment(generation: number): EngineEnvironment {
    const isDead = () => generation !== this.#generation || this.stepsToLive <= 0
    const die = (): Promise<never> => {
      if (generation === this.#generation) this.#died()
      return new Promise(() => undefined)
    }
    /** Runs one step. A page can be killed before the work of a step or after it. */
    const step = async <T>(work: () => Promise<T>): Promise<T> => {
      this.stepsToLive -= 0.5
      if (isDead()) return die()
      const result = await work()
      this.stepsToLive -= 0.5
      return isDead() ? die() : result
    }
    const { api } = this.workspace
    const runner = `${this.id} ${generation}`
    running.set(runner, () => !isDead())
    return {
      settings: phoneSettings,
      openStore: async (onLost) => {
        this.onLost = onLost
        const store = new TableStore(await openIndexedDb(this.database, onLost))
        return steps(store, step, { isFull: () => this.isFull, before: (name) => this.beforeStore(name) })
      },
      fetch: (input, init) =>
        step(() => this.#send(new Request(new URL(String(input), 'https://passes.example'), init))),
      baseUrl: '',
      version: 'test',
      language: () => ({ ...doorEnglish, zone: this.zone }),
      wallMs: () => api.now.getTime() + this.clockSkewMs,
      monotonicMs: () => performance.now(),
      random: () => 0,
      newReference: newId,
      digest: async (payload) => identifierDigest(payload).toString('hex'),
      runner,
      findRunning: async () => (id) => running.get(id)?.() ?? false,
      withLock: createProcessLock(),
      marker: {
        get: () => this.marker,
        set: (text) => {
          if (!isDead()) this.marker = text
        },
      },
      isVisible: () => true,
      onWake: (listener) => {
        this.wake = listener
        return () => undefined
      },
      persist: async () => this.isKept,
    }
  }

  async #send(request: Request): Promise<Response> {
    if (this.network === 'down') throw new TypeError('fetch failed')
    this.onRequest(request)
    const { api } = this.workspace
    if (this.network === 'older') {
      const headers = { 'x-correlation-id': 'of-before', 'content-type': 'application/json' }
      return new Response('{"errorCode":"NOT_FOUND","message":"No such path"}', { status: 404, headers })
    }
    const response = await api.app.fetch(request)
    if (this.network === 'deaf') throw new TypeError('fetch failed')
    // Add the headers of a real server.
    const headers = new Headers(response.headers)
    headers.set('date', api.now.toUTCString())
    return new Response(response.body, { status: response.status, headers })
  }
}

/** Returns a store in which each method is a step. The store may be full. */
function steps(
  store: EngineStore,
  step: <T>(work: () => Promise<T>) => Promise<T>,
  { isFull, before }: { isFull: () => boolean; before: Phone['beforeStore'] },
): EngineStore {
  return new Proxy(store, {
    get(target, name: keyof EngineStore) {
      if (typeof target[name] !== 'function') return undefined
      return (...call: unknown[]) =>
        step(async () => {
          await before(name)
          if (isFull() && ['setIdentity', 'beginAttempt', 'settle', 'evaluate', 'undo'].includes(name))
            throw new StorageFullError('full')
          return (target[name] as (...given: unknown[]) => Promise<unknown>)(...call)
        })
    },
  })
}

/** Returns a phone that became a door of a project with an invitation and has loaded its list. */
export async function claimedPhone(workspace: TestWorkspace, projectId: string, gate = 'North'): Promise<Phone> {
  const phone = new Phone(workspace)
  await phone.open()
  await claim(phone, projectId, gate)
  return phone
}

/** Makes a phone a door of a project. */
export async function claim(phone: Phone, projectId: string, gate = 'North'): Promise<string> {
  const { workspace } = phone
  const expiresAt = new Date(workspace.api.now.getTime() + 3_600_000).toISOString()
  const { code } = await workspace.ok(contract.doors.invite, { body: { projectId, gate, expiresAt } })
  const failure = await phone.engine.claim(code, 'phone')
  if (failure) throw new Error(failure.message)
  await phone.until(({ connection, list }) => connection === 'online' && list !== null)
  return code
}
