import { timingSafeEqual } from 'node:crypto'
import type { H3, H3Event } from 'h3'
import { z } from 'zod'
import { text } from '../../core/contract/schemas/common.ts'
import { ApiError } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { MAX_PASSES_PER_DEVICE } from '../../core/rules/pass/workspace-limits.ts'
import type { DevicePlace } from '../../storage/devices/device-lists.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Store } from '../../storage/store.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { readJson } from '../http/request-body.ts'
import { emitHoldings, queueWalletUpdates } from '../wallet-sync/holders.ts'
import { renderOr } from '../wallet-sync/issuing.ts'
import { type DeviceLogServices, takeDeviceLogs } from './device-logs.ts'

type AppleServices = DeviceLogServices & Pick<Services, 'packages' | 'linkOpens'>

export interface PhoneLimits {
  /** Counts a rejected request. Slows down clients that guess serial numbers and tokens. */
  rejected: (event: H3Event) => void
  /** Counts the removal of a pass from its last wallet. Throws after too many removals, which undoes this removal. */
  removals: (passId: string) => void
  /**
   * Counts `cost` additional requests against the limit of the client address, because a long list of passes costs
   * more.
   */
  lists: (event: H3Event, cost: number) => void
}

const Registration = z.object({ pushToken: z.string().regex(/^[0-9A-Za-z]{1,200}$/) })
const Log = z.object({ logs: z.array(z.string()).max(100) })
const DeviceId = text(1, 255)
/** Serial numbers of other providers can have any form. */
const SerialNumber = text(1, 255)

const MAX_BODY_BYTES = 64 * 1024

/**
 * The maximum number of devices of a pass. It exists because each update of a pass reads all of its devices. Even a
 * pass that many people share has far fewer devices.
 */
const MAX_DEVICES = 10_000

/** The rate limit counts a list as 1 request, plus 1 per PASSES_A_REQUEST of the device's first MAX_COUNTED passes. */
const PASSES_A_REQUEST = 10
const MAX_COUNTED = 10_000

/** The path of the PassKit web service that packages of this server contain. */
export const APPLE_PREFIX = '/apple'

/**
 * Mounts the PassKit web service, with which phones register and unregister for a pass, list changed passes, fetch a
 * pass, and send log messages. Void and expired passes are served too, so that phones show their state.
 * @param prefix the path under which the service is mounted
 */
export function mountAppleService(app: H3, services: AppleServices, limits: PhoneLimits, prefix: string): void {
  const { rejected: limitRejected, removals: limitRemovals, lists: limitLists } = limits
  const { store, identities, packages, clock, log, linkOpens } = services
  if (!packages) return
  const loggedFull = new Set<string>()

  app.post(`${prefix}/v1/devices/:device/registrations/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRejected)
    const deviceId = deviceIdOf(event)
    const { pushToken } = parse(Registration, await readJson(event, MAX_BODY_BYTES))
    await requireRoom(event, { pass, isFormer }, deviceId)
    const at = clock()
    const { workspaceId, id: passId, copyId } = pass
    const isNew = await store.forVisits(workspaceId).transaction(async (tx) => {
      const correlationId = correlationIdOf(event)
      const shown = await tx.passes.lockShown(workspaceId, passId)
      if (shown?.copyId !== copyId) {
        const isFirst = await tx.formerPasses.register(workspaceId, copyId, deviceId, pushToken)
        await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-apple', subject: passId, correlationId }], at)
        return isFirst
      }
      const isInserted = await tx.registrations.insert(workspaceId, { passId, deviceId, pushToken }, at)
      // Push if the pass can have changed between its download and this registration. If the device was already
      // registered, forget its last push. That push may not have reached the phone, because the phone had another
      // token, or still used the previous server of an imported pass.
      const { walletVersion } = shown
      const isBehind =
        walletVersion > 1 &&
        (isInserted || (await tx.registrations.forgetPush(workspaceId, passId, deviceId, walletVersion)))
      if (isBehind) await queueWalletUpdates(tx, workspaceId, [passId], { at, correlationId })
      const { countedSource } = linkOpens
      if (isInserted) await emitHoldings(tx, workspaceId, [passId], { at, correlationId, countedSource })
      return isInserted
    })
    return new Response(null, { status: isNew ? 201 : 200 })
  })

  app.delete(`${prefix}/v1/devices/:device/registrations/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRejected)
    const deviceId = deviceIdOf(event)
    const { workspaceId, id, copyId } = pass
    await store.forVisits(workspaceId).transaction(async (tx) => {
      if (isFormer) return tx.formerPasses.unregister(workspaceId, copyId, deviceId)
      const isDeleted = await tx.registrations.delete(workspaceId, id, deviceId)
      const cause = { at: clock(), correlationId: correlationIdOf(event) }
      if (isDeleted && (await emitHoldings(tx, workspaceId, [id], cause))) limitRemovals(id)
    })
    return new Response(null, { status: 200 })
  })

  app.get(`${prefix}/v1/devices/:device/registrations/:type`, async (event) => {
    const deviceId = deviceIdOf(event)
    const since = parseTag(event.url.searchParams.get('passesUpdatedSince'))
    const held = await store.deviceLists.countAll(deviceId, MAX_COUNTED)
    const isKnown = held > 0
    const ofType = await identities.ofAccount('apple', typeOf(event))
    const isOurs = ofType.length > 0
    if (!isOurs || !isKnown) limitRejected(event)
    if (!isOurs || (!isKnown && since !== null)) return new Response(null, { status: 404 })
    // Count a long list as several requests, even if no pass has changed: an empty list takes as long to read.
    if (held >= PASSES_A_REQUEST) limitLists(event, Math.floor(held / PASSES_A_REQUEST))
    const at = clock()
    const list = (from: DevicePlace | null) => store.deviceLists.listChanged(deviceId, from, ofType, at)
    const known = await list(since)
    // If the tag is above all tags of this server, another server assigned the tag: list all passes of the device.
    const isForeign = known.serialNumbers.length === 0 && since !== null && (await store.deviceLists.isAhead(since.tag))
    const { serialNumbers, toNote, place } = isForeign ? await list({ tag: 0 }) : known
    // The database of a frozen server can lack changes for which another server has already pushed to this phone. Do
    // not respond that nothing changed: the write below fails with 503 instead, so that the phone tries again.
    if (serialNumbers.length === 0 && !store.isFrozen) return new Response(null, { status: 204 })
    if (toNote.length > 0 || store.isFrozen) {
      await store.statement((tx) => tx.deviceLists.setListed(deviceId, toNote, at))
    }
    return Response.json({ serialNumbers, lastUpdated: walletTag(place) })
  })

  app.get(`${prefix}/v1/passes/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRejected)
    const { workspaceId, id, walletVersion } = pass
    const request = (await isDatedHere(event, pass)) ? event.req : undated(event.req)
    const response = await renderOr(() => packages.answer(pass, request, clock()))
    // A HEAD request does not fetch the pass.
    if (event.req.method === 'GET' && !isFormer)
      await store
        .forVisits(workspaceId)
        .statement((tx) => tx.registrations.setFetched(workspaceId, id, walletVersion, clock()))
    return response
  })

  app.post(`${prefix}/v1/log`, async (event) => {
    limitRejected(event)
    const { logs } = parse(Log, await readJson(event, MAX_BODY_BYTES))
    await takeDeviceLogs(services, logs)
    return new Response(null, { status: 200 })
  })

  /**
   * Whether to trust the If-Modified-Since of a phone. For an imported pass, the date can be from the previous server.
   * The date of such a pass counts only after a phone has fetched the current version from this server.
   */
  async function isDatedHere(event: H3Event, pass: StoredPass): Promise<boolean> {
    const { workspaceId, id, copyId, serialNumber, walletVersion } = pass
    if (serialNumber === copyId || !event.req.headers.has('if-modified-since')) return true
    return store.registrations.isFetched(workspaceId, id, walletVersion)
  }

  async function requireRoom(event: H3Event, { pass, isFormer }: AuthenticatedPass, deviceId: string): Promise<void> {
    const { workspaceId, id, copyId } = pass
    const [holders, name] = isFormer ? [store.formerPasses, copyId] : [store.registrations, id]
    if (await holders.has(workspaceId, name, deviceId)) return
    if (await holders.isFull(workspaceId, name, MAX_DEVICES)) {
      noteFull({ passId: id, workspaceId }, `a pass has ${MAX_DEVICES} devices, and accepts no more`)
      limitRejected(event)
      throw new ApiError('FORBIDDEN', { message: 'Too many devices hold this pass.' })
    }
    const held = (await store.deviceLists.countPasses(workspaceId, [deviceId])).get(deviceId) ?? 0
    if (held < MAX_PASSES_PER_DEVICE) return
    noteFull({ workspaceId }, `a device holds ${MAX_PASSES_PER_DEVICE} passes of the workspace, and accepts no more`)
    limitRejected(event)
    throw new ApiError('FORBIDDEN', { message: 'The device holds too many passes of this issuer.' })
  }

  /** Logs a reached maximum, once per pass or workspace. */
  function noteFull(what: { passId?: string; workspaceId: string }, message: string): void {
    const key = what.passId ?? what.workspaceId
    if (!loggedFull.has(key)) log.warn(what, message)
    loggedFull.add(key)
  }
}

function undated({ method, headers }: Pick<Request, 'method' | 'headers'>): Pick<Request, 'method' | 'headers'> {
  const others = new Headers(headers)
  others.delete('if-modified-since')
  return { method, headers: others }
}

interface AuthenticatedPass {
  pass: StoredPass
  /** Whether the phone holds the copy of a former holder. This copy is permanently void. */
  isFormer: boolean
}

/** @throws ApiError UNAUTHORIZED. It does not reveal whether the type, the serial number, or the token is wrong */
async function authenticatePass(
  event: H3Event,
  services: AppleServices,
  limitRejected: PhoneLimits['rejected'],
): Promise<AuthenticatedPass> {
  const [, token] = /^ApplePass ([\x21-\x7e]{1,255})$/.exec(event.req.headers.get('authorization') ?? '') ?? []
  const serialNumber = SerialNumber.safeParse(decoded(event.context.params?.serial)).data
  const ofType = token && serialNumber ? await services.identities.ofAccount('apple', typeOf(event)) : []
  const found = serialNumber && ofType.length > 0 ? await findHeld(serialNumber, ofType, services) : undefined
  if (found && token && isEqual(token, found.pass.appleToken)) return found
  limitRejected(event)
  throw new ApiError('UNAUTHORIZED', {
    message: 'Send the authentication token of the pass as Authorization: ApplePass <token>.',
  })
}

async function findHeld(
  serialNumber: string,
  identityIds: (string | null)[],
  { store, clock }: AppleServices,
): Promise<AuthenticatedPass | undefined> {
  const pass = await store.registrations.findPass(serialNumber, identityIds)
  if (pass) return { pass, isFormer: false }
  const former = await store.formerPasses.findBySerialNumber(serialNumber, identityIds, clock())
  const current = former && (await store.passes.find(former.workspaceId, former.passId))
  if (!current) return undefined
  return { pass: asFormer(current, former), isFormer: true }
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function parse<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value)
  if (!result.success) throw new ApiError('VALIDATION_ERROR')
  return result.data
}

function deviceIdOf(event: H3Event): string {
  return parse(DeviceId, decoded(event.context.params?.device))
}

function typeOf(event: H3Event): string {
  return decoded(event.context.params?.type)
}

function decoded(part = ''): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new ApiError('VALIDATION_ERROR', { cause })
  }
}

/**
 * Returns the value of lastUpdated, which phones send back unchanged. It must be a string: with a number, phones would
 * stop updating.
 */
function walletTag({ tag, passId }: DevicePlace): string {
  return passId === undefined ? `v${tag}` : `v${tag}-${passId}`
}

/** Parses the tag that a phone sends; `null` without a tag. A tag of another form counts as older than all changes. */
function parseTag(text: string | null): DevicePlace | null {
  if (text === null) return null
  const [, digits, id] = /^v(\d{1,15})(?:-(.{36}))?$/.exec(text) ?? []
  const passId = Uuid.safeParse(id).data
  if (digits === undefined || (id !== undefined && passId === undefined)) return { tag: 0 }
  return { tag: Number(digits), passId }
}

const SETTING = 'public-url'

/** The public URL of the servers on a database, and the previous public URL, which older passes on phones contain. */
const OwnAddress = z.object({ publicUrl: z.string(), former: z.string().optional() })
type OwnAddress = z.output<typeof OwnAddress>

export function webServiceUrl(publicUrl: string): string {
  return `${publicUrl}/apple`
}

/** Stores the public URL for new packages. Keeps the previous URL for commands of the operator. */
export function noteAddress(store: Store, publicUrl: string): Promise<void> {
  return store.transaction(async (tx) => {
    const known = OwnAddress.parse(JSON.parse(await tx.settings.insert(SETTING, JSON.stringify({ publicUrl }))))
    if (known.publicUrl === publicUrl) return
    await tx.settings.update(SETTING, JSON.stringify({ publicUrl, former: known.publicUrl }))
  })
}

export async function findAddress({ settings }: Store): Promise<OwnAddress | undefined> {
  const stored = await settings.find(SETTING)
  return stored === undefined ? undefined : OwnAddress.parse(JSON.parse(stored))
}
