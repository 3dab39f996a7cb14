import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { CliError } from '../../command/errors.ts'
import { type Push, receivePushes } from '../pushes.ts'
import type { Behaviour } from './behaviour.ts'
import { deviceIdOf, type FleetPhone, type HeldPass, pushTokenOf, readPushToken } from './fleet-phone.ts'
import { BusyError, createPassKit, type PassKit } from './passkit.ts'
import type { Random } from './seeded-random.ts'

/** Counters of a fleet. */
export interface FleetCounts {
  /** Pushes that phones received; one push can announce several changes. */
  pushes: number
  /** Successful queries for changes, and downloaded packages that were newer or not. */
  asked: number
  fetched: number
  unchanged: number
  /** Responses after which phones retry: 429, 503, no connection. */
  busy: number
  /** Responses that phones do not expect. */
  problems: number
}

export interface FleetOptions {
  /** Sixteen hexadecimal digits. The same id creates the same phones. */
  id: string
  webServiceURL: string
  passTypeIdentifier: string
  /** Returns the current address of the sandbox's APNs emulator for phones. */
  locateApns: () => Promise<string>
  random: Random
  /** The acceleration of the phones' clocks; 1 by default. */
  speed?: number
  /** The maximum number of concurrent requests; 32 by default, which is the server's limit per address. */
  connections?: number
  onProblem?: (message: string) => void
}

/** Many virtual iPhones in one process. They receive pushes over one connection and react by their behavior. */
export interface Fleet {
  readonly id: string
  readonly phones: readonly FleetPhone[]
  readonly counts: Readonly<FleetCounts>
  /** Delays between push and completed fetch, in milliseconds. */
  readonly delays: readonly number[]
  /** Adds a phone whose passes are already registered, for example by an earlier run. */
  add(behaviour: Behaviour, passes: HeldPass[]): FleetPhone
  /** Registers a pass of a phone, with retries; resolves to whether the registration is new. */
  register(phone: FleetPhone, pass: HeldPass): Promise<boolean>
  unregister(phone: FleetPhone, pass: HeldPass): Promise<void>
  /** Erases the phone without unregistering: its passes are gone, and APNs reports its token as invalid. */
  wipe(phone: FleetPhone): Promise<void>
  /** Starts to receive pushes, until the fleet is closed. Resolves when connected. */
  listen(): Promise<void>
  /** Makes a phone query changes immediately, as when its owner opens the pass. */
  wake(phone: FleetPhone): void
  /** Returns whether the server has newer content than the phone. The server does not count this as a fetch. */
  isBehind(pass: HeldPass): Promise<boolean>
  close(): Promise<void>
}

const CONNECTIONS = 32

/** Creates a fleet without phones; see `Fleet`. */
export function createFleet(options: FleetOptions): Fleet {
  const { id, locateApns, random, speed = 1, connections = CONNECTIONS, onProblem = () => undefined } = options
  const passKit: PassKit = createPassKit({ ...options, connections })
  const phones: FleetPhone[] = []
  const counts: FleetCounts = { pushes: 0, asked: 0, fetched: 0, unchanged: 0, busy: 0, problems: 0 }
  const delays: number[] = []
  const stop = new AbortController()
  // Every phone can add a listener.
  setMaxListeners(0, stop.signal)
  const timers = new Set<NodeJS.Timeout>()
  /** The queue of phones that wait for a connection, from index `next`. */
  const line: FleetPhone[] = []
  let next = 0
  let asking = 0
  let listening: Promise<void> | undefined

  function receive({ token }: Push): void {
    const { index, setups } = readPushToken(token)
    const phone = phones[index]
    if (!phone || phone.setups !== setups || phone.passes.length === 0) return
    counts.pushes += 1
    phone.pushes += 1
    phone.toldAt ||= Date.now()
    if (phone.isDue || phone.behaviour.answersAfter === null) return
    const [least, most] = phone.behaviour.answersAfter
    const after = ((least + random.next() * (most - least)) * 1000) / speed
    const soonest = phone.askedAt + (phone.behaviour.atMostEvery * 1000) / speed
    phone.isDue = true
    queueIn(phone, Math.max(after, soonest - Date.now()))
  }

  function queueIn(phone: FleetPhone, milliseconds: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer)
      queue(phone)
    }, milliseconds)
    timers.add(timer)
  }

  function queue(phone: FleetPhone): void {
    line.push(phone)
    moveOn()
  }

  function moveOn(): void {
    while (asking < connections && next < line.length && !stop.signal.aborted) {
      const first = line[next]!
      next += 1
      asking += 1
      void ask(first)
    }
    if (next < line.length) return
    line.length = 0
    next = 0
  }

  async function ask(phone: FleetPhone): Promise<void> {
    // Reset it before the query: a push after this can announce a change that the response lacks.
    const toldAt = phone.toldAt
    phone.toldAt = 0
    phone.isDue = false
    phone.askedAt = Date.now()
    try {
      const isCurrent = await refresh(phone)
      if (isCurrent && toldAt > 0) delays.push(Date.now() - toldAt)
      if (!isCurrent) phone.toldAt = toldAt || phone.askedAt
    } catch (error) {
      phone.toldAt = toldAt || phone.askedAt
      if (stop.signal.aborted) return
      if (!(error instanceof BusyError)) noteProblem(error)
      else {
        counts.busy += 1
        comeAgain(phone, error.afterSeconds * 1000)
      }
    } finally {
      asking -= 1
      moveOn()
    }
  }

  function comeAgain(phone: FleetPhone, milliseconds: number): void {
    if (phone.isDue) return
    phone.isDue = true
    // Add jitter, so that phones do not retry at the same time.
    queueIn(phone, milliseconds * (1 + random.next()))
  }

  /** Queries changes and fetches them; returns `false` if the phone does not fetch. */
  async function refresh(phone: FleetPhone): Promise<boolean> {
    const changed = await passKit.listChanged(deviceIdOf(id, phone), phone.tag)
    counts.asked += 1
    if (!changed) return true
    if (!phone.behaviour.fetches) return false
    const serials = new Set(changed.serialNumbers)
    for (const pass of phone.passes) if (serials.has(pass.serialNumber)) await fetchPass(phone, pass)
    // Update the tag only after all fetches succeed, so that failed passes are listed again.
    phone.tag = changed.lastUpdated
    return true
  }

  async function fetchPass(phone: FleetPhone, pass: HeldPass): Promise<void> {
    const fetched = await passKit.fetch(pass, pass.lastModified)
    if (fetched.outcome === 'gone') phone.passes = phone.passes.filter((other) => other !== pass)
    else counts[fetched.outcome === 'changed' ? 'fetched' : 'unchanged'] += 1
    if (fetched.outcome === 'changed') pass.lastModified = fetched.lastModified
  }

  function noteProblem(error: unknown): void {
    counts.problems += 1
    onProblem(error instanceof Error ? error.message : String(error))
  }

  async function untilTaken<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!(error instanceof BusyError) || stop.signal.aborted) throw error
        counts.busy += 1
        await sleep(error.afterSeconds * 1000 * (1 + random.next()), undefined, { signal: stop.signal })
      }
    }
  }

  return {
    id,
    phones,
    counts,
    delays,
    add(behaviour, passes) {
      const state = { setups: 0, tag: null, pushes: 0, toldAt: 0, askedAt: 0, isDue: false }
      const phone: FleetPhone = { index: phones.length, behaviour, passes, ...state }
      phones.push(phone)
      return phone
    },
    async register(phone, pass) {
      const isNew = await untilTaken(() => passKit.register(deviceIdOf(id, phone), pushTokenOf(id, phone), pass))
      if (!phone.passes.includes(pass)) phone.passes.push(pass)
      return isNew
    },
    async unregister(phone, pass) {
      await untilTaken(() => passKit.unregister(deviceIdOf(id, phone), pass))
      phone.passes = phone.passes.filter((other) => other !== pass)
    },
    async wipe(phone) {
      const url = `${await locateApns()}/tokens/${pushTokenOf(id, phone)}`
      const { statusCode, body } = await request(url, { method: 'DELETE' })
      await body.dump()
      if (statusCode !== 204)
        throw new CliError(`The emulator for APNs answered ${statusCode} to a phone that is wiped`)
      Object.assign(phone, { passes: [], setups: phone.setups + 1, tag: null, toldAt: 0 })
    },
    async listen() {
      await new Promise<void>((resolve, reject) => {
        listening = receivePushes({
          fleetId: id,
          locate: locateApns,
          signal: stop.signal,
          onOpen: resolve,
          onPush: receive,
        })
        listening.catch(reject)
      })
    },
    wake(phone) {
      phone.isDue = true
      queue(phone)
    },
    isBehind: (pass) => untilTaken(() => passKit.isNewer(pass, pass.lastModified)),
    async close() {
      stop.abort()
      for (const timer of timers) clearTimeout(timer)
      await Promise.all([passKit.close(), listening?.catch(() => undefined)])
    },
  }
}
