import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openPackage } from '../../../src/cli/device/apple-package.ts'
import { fieldsOf, type PassJson, styleOf } from '../../../src/cli/device/apple-pass-json.ts'
import { call, downloadPass } from '../../../src/cli/device/http.ts'
import { fetchPass, listChanged, register, requestPass, unregister } from '../../../src/cli/device/passkit.ts'
import type { Random } from '../random.ts'
import type { Behaviour } from './behaviour.ts'
import { deviceIdOf, type FleetPhone, type HeldPass, pushTokenOf } from './fleet-phone.ts'
import { type Push, receivePushes } from './pushes.ts'

/** Counters of a fleet. */
export interface FleetCounts {
  /** Pushes that phones received; one push can announce several changes. */
  pushes: number
  /** The number of pushes that phones ignored, because they hold no pass of the pass type. */
  strayPushes: number
  /** Successful queries for changes (`asked`), downloaded packages (`fetched`), and 304 responses (`unchanged`). */
  asked: number
  fetched: number
  unchanged: number
  /** Responses after which phones retry: 429, 5xx, no connection. */
  busy: number
  /** Responses that phones do not expect. */
  problems: number
  /** Verified packages (`packages`), and the packages among them that phones rejected (`refused`). */
  packages: number
  refused: number
  /**
   * Packages with another serial number, pass type, or token. For Wallet, such a package is another pass, which the
   * user would have to add.
   */
  strange: number
}

export interface FleetOptions {
  /** Sixteen hexadecimal digits. The same id creates the same phones. */
  id: string
  /** The address of the web service of the first passes. */
  webServiceURL: string
  passTypeIdentifier: string
  /** Returns the current address of the sandbox's APNs emulator for phones. */
  locateApns: () => Promise<string>
  random: Random
  /** The acceleration of the phones' clocks; 1 by default. */
  speed?: number
  /** The maximum number of concurrent queries; 32 by default, which is the server's limit per address. */
  connections?: number
  /**
   * The root certificate against which packages are verified. If it is set, phones also read the revision of packages,
   * and follow packages to another service.
   */
  rootPem?: string
  /** Called with each verified package. */
  onPackage?: (content: PassJson) => void
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
  /** Installs and verifies the package of a hosted link, and registers the phone for it. */
  install(phone: FleetPhone, link: string): Promise<void>
  /** Registers a pass of a phone, with retries; resolves to whether the registration is new. */
  register(phone: FleetPhone, pass: HeldPass): Promise<boolean>
  unregister(phone: FleetPhone, pass: HeldPass): Promise<void>
  /** Erases the phone without unregistering: its passes are gone, and APNs reports its token as invalid. */
  wipe(phone: FleetPhone): Promise<void>
  /** Starts to receive pushes, until the fleet is closed. Resolves when connected. */
  listen(): Promise<void>
  /** Makes a phone query changes immediately, as when its owner opens the pass. */
  wake(phone: FleetPhone): void
  /** Returns the current package. */
  download(phone: FleetPhone, pass: HeldPass): Promise<Buffer>
  /** Returns whether the server has newer content than the phone. The server does not count this as a fetch. */
  isBehind(phone: FleetPhone, pass: HeldPass): Promise<boolean>
  close(): Promise<void>
}

/** The minimum delay before a phone retries a failed query, in milliseconds. The maximum is twice as long. */
const RETRY_MS = 1_000

/** Creates a fleet without phones; see `Fleet`. */
export function createFleet(options: FleetOptions): Fleet {
  const { id, locateApns, random, speed = 1, connections = 32, rootPem, onPackage, onProblem } = options
  const phones: FleetPhone[] = []
  const byToken = new Map<string, FleetPhone>()
  const counts: FleetCounts = {
    pushes: 0,
    strayPushes: 0,
    asked: 0,
    fetched: 0,
    unchanged: 0,
    busy: 0,
    problems: 0,
    packages: 0,
    refused: 0,
    strange: 0,
  }
  const delays: number[] = []
  const stop = new AbortController()
  // Disable the warning about many listeners, because every phone can add one.
  setMaxListeners(0, stop.signal)
  const timers = new Set<NodeJS.Timeout>()
  /** The queue of phones that wait for a connection, from index `next`. */
  const line: FleetPhone[] = []
  let next = 0
  const asking = new Set<FleetPhone>()
  /** Phones that query again when their query ends, so that an older response cannot replace a newer one. */
  const again = new Set<FleetPhone>()
  let listening: Promise<void> | undefined

  function receive({ token, topic }: Push): void {
    const phone = byToken.get(token)
    if (!phone || phone.passes.length === 0) return
    counts.pushes += 1
    if (topic !== phone.passTypeIdentifier) {
      counts.strayPushes += 1
      return
    }
    phone.pushes += 1
    phone.toldAt ||= Date.now()
    if (phone.isDue || phone.behaviour.answersAfter === null) return
    const [least, most] = phone.behaviour.answersAfter
    const after = ((least + random.next() * (most - least)) * 1000) / speed
    const soonest = phone.askedAt + (phone.behaviour.atMostEvery * 1000) / speed
    queueIn(phone, Math.max(after, soonest - Date.now()))
  }

  function queueIn(phone: FleetPhone, milliseconds: number): void {
    phone.isDue = true
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
    while (asking.size < connections && next < line.length && !stop.signal.aborted) {
      const first = line[next]!
      next += 1
      if (asking.has(first)) again.add(first)
      else void ask(first)
    }
    if (next < line.length) return
    line.length = 0
    next = 0
  }

  async function ask(phone: FleetPhone): Promise<void> {
    asking.add(phone)
    // Reset `toldAt` before the query, because a push after this can announce a change that the response lacks.
    const toldAt = phone.toldAt
    phone.toldAt = 0
    phone.isDue = false
    phone.askedAt = Date.now()
    try {
      const isCurrent = await refresh(phone)
      phone.problem = undefined
      if (isCurrent && toldAt > 0) delays.push(Date.now() - toldAt)
      if (!isCurrent) phone.toldAt = toldAt || phone.askedAt
    } catch (error) {
      phone.toldAt = toldAt || phone.askedAt
      if (stop.signal.aborted) return
      phone.problem = error instanceof Error ? error.message : String(error)
      counts[isBusy(error) ? 'busy' : 'problems'] += 1
      if (!isBusy(error)) onProblem?.(phone.problem)
      if (!phone.isDue) queueIn(phone, retryDelay())
    } finally {
      asking.delete(phone)
      if (again.delete(phone)) line.push(phone)
      moveOn()
    }
  }

  const retryDelay = () => RETRY_MS * (1 + random.next())

  /** Queries changes and fetches them; returns `false` if the phone does not fetch. */
  async function refresh(phone: FleetPhone): Promise<boolean> {
    const { webServiceURL } = phone
    const changed = await listChanged(phone)
    counts.asked += 1
    if (!changed) return true
    if (!phone.behaviour.fetches) return false
    const serials = new Set(changed.serialNumbers)
    for (const pass of phone.passes) if (serials.has(pass.serialNumber)) await renew(phone, pass)
    // Update the tag only after all fetches succeed, so that failed passes are listed again.
    if (phone.webServiceURL === webServiceURL) phone.updatedSince = changed.lastUpdated
    return true
  }

  async function renew(phone: FleetPhone, pass: HeldPass): Promise<void> {
    const fetched = await fetchPass({ ...phone, ...pass }, pass.lastModified)
    if (fetched.outcome === 'refused') phone.passes = phone.passes.filter((other) => other !== pass)
    if (fetched.outcome === 'unchanged') counts.unchanged += 1
    if (fetched.outcome !== 'changed') return
    counts.fetched += 1
    if (rootPem !== undefined) await show(phone, pass, open(fetched.archive))
    pass.lastModified = fetched.lastModified
  }

  /** Registers at another web service if the package names one, and shows the package after that. */
  async function show(phone: FleetPhone, pass: HeldPass, content: PassJson): Promise<void> {
    const { serialNumber, authenticationToken, passTypeIdentifier, webServiceURL } = content
    const isSame =
      serialNumber === pass.serialNumber &&
      authenticationToken === pass.authenticationToken &&
      passTypeIdentifier === phone.passTypeIdentifier
    if (!isSame) {
      counts.strange += 1
      throw new Error('The package is of another pass.')
    }
    if (webServiceURL !== phone.webServiceURL) {
      await register({ ...phone, webServiceURL }, pass)
      Object.assign(phone, { webServiceURL, updatedSince: null })
    }
    pass.revision = revisionIn(content)
  }

  /** Opens a package and counts it. @throws CliError PASS_REFUSED if a phone would reject the package */
  function open(archive: Buffer): PassJson {
    counts.packages += 1
    try {
      const { content } = openPackage(archive, rootPem!, new Date())
      onPackage?.(content)
      return content
    } catch (error) {
      counts.refused += 1
      throw error
    }
  }

  async function untilTaken<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!isBusy(error) || stop.signal.aborted) throw error
        counts.busy += 1
        await sleep(retryDelay(), undefined, { signal: stop.signal })
      }
    }
  }

  function setUp(phone: FleetPhone, setups: number): void {
    byToken.delete(phone.pushToken)
    const pushToken = pushTokenOf(id, { index: phone.index, setups })
    Object.assign(phone, { setups, pushToken, updatedSince: null, toldAt: 0 })
    byToken.set(pushToken, phone)
  }

  return {
    id,
    phones,
    counts,
    delays,
    add(behaviour, passes) {
      const index = phones.length
      const { webServiceURL, passTypeIdentifier } = options
      const account = { webServiceURL, passTypeIdentifier, deviceId: deviceIdOf(id, { index }), pushToken: '' }
      const state = {
        updatedSince: null,
        setups: 0,
        pushes: 0,
        toldAt: 0,
        askedAt: 0,
        isDue: false,
        problem: undefined,
      }
      const phone: FleetPhone = { ...account, index, behaviour, passes, ...state }
      phones.push(phone)
      setUp(phone, 0)
      return phone
    },
    async install(phone, link) {
      const { archive, lastModified } = await downloadPass(link)
      const content = open(archive)
      const { serialNumber, authenticationToken } = content
      // Add the pass before it is registered, because the first push can arrive before the response.
      phone.passes.push({ serialNumber, authenticationToken, lastModified, revision: revisionIn(content) })
      await register(phone, content)
    },
    async register(phone, pass) {
      const isNew = await untilTaken(() => register(phone, pass))
      if (!phone.passes.includes(pass)) phone.passes.push(pass)
      return isNew
    },
    async unregister(phone, pass) {
      await untilTaken(() => unregister(phone, pass))
      phone.passes = phone.passes.filter((other) => other !== pass)
    },
    async wipe(phone) {
      const { status } = await call(`${await locateApns()}/tokens/${phone.pushToken}`, { method: 'DELETE' })
      if (status !== 204) throw new Error(`The emulator for APNs responded with ${status} to a wiped phone`)
      phone.passes = []
      setUp(phone, phone.setups + 1)
    },
    async listen() {
      await new Promise<void>((resolve, reject) => {
        const { signal } = stop
        listening = receivePushes({ fleetId: id, locate: locateApns, signal, onOpen: resolve, onPush: receive })
        listening.catch(reject)
      })
    },
    wake(phone) {
      phone.isDue = true
      queue(phone)
    },
    async download(phone, pass) {
      const fetched = await fetchPass({ ...phone, ...pass }, null)
      if (fetched.outcome !== 'changed') throw new Error(`No package of ${pass.serialNumber}: ${fetched.outcome}`)
      return fetched.archive
    },
    isBehind: (phone, pass) =>
      untilTaken(async () => {
        const { status } = await requestPass({ ...phone, ...pass }, pass.lastModified, 'HEAD')
        return status === 200
      }),
    async close() {
      stop.abort()
      for (const timer of timers) clearTimeout(timer)
      await listening?.catch(() => undefined)
    },
  }
}

/** Returns whether the service is overloaded or unreachable, so that a phone retries. */
function isBusy(error: unknown): boolean {
  const { code, details } = error as { code?: string; details?: { status?: number } }
  const status = details?.status ?? 0
  return code === 'CONNECTION_FAILED' || status === 429 || status >= 500
}

function revisionIn(content: PassJson): number {
  const field = fieldsOf(styleOf(content)).find(({ key }) => key === 'revision')
  return Number(field?.value ?? 0)
}
