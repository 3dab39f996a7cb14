import { timingSafeEqual } from 'node:crypto'
import type { H3, H3Event } from 'h3'
import { z } from 'zod'
import { text } from '../../core/contract/common.ts'
import { ApiError } from '../../core/errors.ts'
import { Uuid } from '../../core/ids.ts'
import { MAX_PASSES_PER_DEVICE } from '../../core/rules/pass/limits.ts'
import type { DevicePlace } from '../../storage/devices/device-lists.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Services } from '../context.ts'
import { correlationIdOf } from '../http/middleware/observe.ts'
import { readJson } from '../http/request-body.ts'
import { tellHolders } from '../wallet-sync/holders.ts'
import { renderOr } from '../wallet-sync/issuing.ts'
import { queueWalletUpdates } from '../wallet-sync/wallet-updates.ts'
import { type DeviceLogServices, takeDeviceLogs } from './device-logs.ts'

type AppleServices = DeviceLogServices & Pick<Services, 'packages'>

/** What phones may do so often. */
export interface PhoneLimits {
  refused: LimitRefused
  /** Called with each pass that would be in no wallet any more; it throws where that happens too often. */
  removals: (passId: string) => void
  /** Debits the address for a list that costs as much as several requests. */
  lists: (event: H3Event, cost: number) => void
}

/** Slows down whoever guesses; called with every request that is refused. */
export type LimitRefused = (event: H3Event) => void

const Registration = z.object({ pushToken: z.string().regex(/^[0-9A-Za-z]{1,200}$/) })
const Log = z.object({ logs: z.array(z.string()).max(100) })
const DeviceId = text(1, 255)
/** Those of other providers have any form. */
const SerialNumber = text(1, 255)

const MAX_BODY_BYTES = 64 * 1024

/** Far more than a pass that is shared among friends, or shown to a crowd, has: its update reads all of them. */
const MAX_DEVICES = 10_000

/** A list counts for a request more with each of these passes that the device holds, up to the second number of passes. */
const PASSES_A_REQUEST = 10
const MAX_COUNTED = 10_000

/** Where packages of this server say that phones find the PassKit web service. */
export const APPLE_PREFIX = '/apple'

/**
 * The PassKit web service, which phones call: register and unregister a device for a pass, ask which passes changed,
 * fetch one, complain. A void or expired pass is still served, so that phones show that it is over.
 * @param prefixes the paths that it stands under
 */
export function mountAppleService(
  app: H3,
  services: AppleServices,
  limits: PhoneLimits,
  prefixes: readonly string[],
): void {
  for (const prefix of prefixes) mountAt(prefix, app, services, limits)
}

function mountAt(prefix: string, app: H3, services: AppleServices, limits: PhoneLimits): void {
  const { refused: limitRefused, removals: limitRemovals, lists: limitLists } = limits
  const { store, identities, packages, clock, log } = services
  if (!packages) return
  const toldFull = new Set<string>()

  app.post(`${prefix}/v1/devices/:device/registrations/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRefused)
    const deviceId = deviceIdOf(event)
    const { pushToken } = await bodyOf(event, Registration)
    await requireRoom(event, { pass, isFormer }, deviceId)
    const at = clock()
    const isNew = await store.transaction(async (tx) => {
      const { workspaceId, id: passId, copyId } = pass
      const correlationId = correlationIdOf(event)
      const shown = await tx.passes.lockShown(workspaceId, passId)
      if (shown?.copyId !== copyId) {
        const isFirst = await tx.formerPasses.register(workspaceId, copyId, deviceId, pushToken)
        await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-apple', subject: passId, correlationId }], at)
        return isFirst
      }
      const isInserted = await tx.registrations.insert(workspaceId, { passId, deviceId, pushToken }, at)
      // The pass may have changed between its download and this moment: the phone learns it by a push. One that is known may
      // have been pushed before it could come: it was imported, and asked where it was before, or it has another token.
      const { walletVersion } = shown
      const isBehind =
        walletVersion > 1 &&
        (isInserted || (await tx.registrations.forgetPush(workspaceId, passId, deviceId, walletVersion)))
      if (isBehind) await queueWalletUpdates(tx, workspaceId, [passId], { at, correlationId })
      if (isInserted) await tellHolders(tx, workspaceId, [passId], { at, correlationId })
      return isInserted
    })
    return new Response(null, { status: isNew ? 201 : 200 })
  })

  app.delete(`${prefix}/v1/devices/:device/registrations/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRefused)
    const deviceId = deviceIdOf(event)
    const { workspaceId, id, copyId } = pass
    await store.transaction(async (tx) => {
      if (isFormer) return tx.formerPasses.unregister(workspaceId, copyId, deviceId)
      const isDeleted = await tx.registrations.delete(workspaceId, id, deviceId)
      const cause = { at: clock(), correlationId: correlationIdOf(event) }
      if (isDeleted && (await tellHolders(tx, workspaceId, [id], cause))) limitRemovals(id)
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
    if (!isOurs || !isKnown) limitRefused(event)
    if (!isOurs || (!isKnown && since !== null)) return new Response(null, { status: 404 })
    // Before the list is read, which takes as long whether it names all of them or none.
    if (held >= PASSES_A_REQUEST) limitLists(event, Math.floor(held / PASSES_A_REQUEST))
    const at = clock()
    const list = (from: DevicePlace | null) => store.deviceLists.listChanged(deviceId, from, ofType, at)
    const known = await list(since)
    // Nothing is new, or the tag was given by another server.
    const isForeign = known.serialNumbers.length === 0 && since !== null && (await store.deviceLists.isAhead(since.tag))
    const { serialNumbers, toNote, place } = isForeign ? await list({ tag: 0 }) : known
    // A frozen server cannot know what changed in the copy of its database, whose server may have pushed the phone already.
    if (serialNumbers.length === 0 && !store.isFrozen) return new Response(null, { status: 204 })
    if (toNote.length > 0 || store.isFrozen) {
      await store.statement((tx) => tx.deviceLists.setListed(deviceId, toNote, at))
    }
    return Response.json({ serialNumbers, lastUpdated: walletTag(place) })
  })

  app.get(`${prefix}/v1/passes/:type/:serial`, async (event) => {
    const { pass, isFormer } = await authenticatePass(event, services, limitRefused)
    const { workspaceId, id, walletVersion } = pass
    const request = (await isDatedHere(event, pass)) ? event.req : undated(event.req)
    const response = await renderOr(() => packages.answer(pass, request, clock()))
    // Who asks for the head alone has nothing yet.
    if (event.req.method === 'GET' && !isFormer)
      await store.statement((tx) => tx.registrations.setFetched(workspaceId, id, walletVersion, clock()))
    return response
  })

  app.post(`${prefix}/v1/log`, async (event) => {
    limitRefused(event)
    const { logs } = await bodyOf(event, Log)
    await takeDeviceLogs(services, logs)
    return new Response(null, { status: 200 })
  })

  /**
   * Whether the date of what a phone has may be one of ours. Of an imported pass another server gave dates, too, which may be in the
   * same second: until a phone has fetched this version here, none has it.
   */
  async function isDatedHere(event: H3Event, pass: StoredPass): Promise<boolean> {
    const { workspaceId, id, copyId, serialNumber, walletVersion } = pass
    if (serialNumber === copyId || !event.req.headers.has('if-modified-since')) return true
    return store.registrations.isFetched(workspaceId, id, walletVersion)
  }

  /** @throws ApiError FORBIDDEN for a device that is new to a pass, if the pass or the device has no room */
  async function requireRoom(event: H3Event, { pass, isFormer }: AuthenticatedPass, deviceId: string): Promise<void> {
    const { workspaceId, id, copyId } = pass
    const [holders, name] = isFormer ? [store.formerPasses, copyId] : [store.registrations, id]
    if (await holders.has(workspaceId, name, deviceId)) return
    if (await holders.isFull(workspaceId, name, MAX_DEVICES)) {
      noteFull({ passId: id, workspaceId }, `a pass has ${MAX_DEVICES} devices, and takes no more`)
      limitRefused(event)
      throw new ApiError('FORBIDDEN', { message: 'Too many devices hold this pass.' })
    }
    const held = (await store.deviceLists.countPasses(workspaceId, [deviceId])).get(deviceId) ?? 0
    if (held < MAX_PASSES_PER_DEVICE) return
    noteFull({ workspaceId }, `a device holds ${MAX_PASSES_PER_DEVICE} passes of the workspace, and takes no more`)
    limitRefused(event)
    throw new ApiError('FORBIDDEN', { message: 'The device holds too many passes of this issuer.' })
  }

  /** Once for each pass and workspace. */
  function noteFull(what: { passId?: string; workspaceId: string }, message: string): void {
    const key = what.passId ?? what.workspaceId
    if (!toldFull.has(key)) log.warn(what, message)
    toldFull.add(key)
  }
}

function undated({ method, headers }: Pick<Request, 'method' | 'headers'>): Pick<Request, 'method' | 'headers'> {
  const others = new Headers(headers)
  others.delete('if-modified-since')
  return { method, headers: others }
}

interface AuthenticatedPass {
  pass: StoredPass
  /** Of a holder who gave it away: it is void for good. */
  isFormer: boolean
}

/** @throws ApiError UNAUTHORIZED for a wrong type, serial number or token: which of them is nobody's business */
async function authenticatePass(
  event: H3Event,
  services: AppleServices,
  limitRefused: LimitRefused,
): Promise<AuthenticatedPass> {
  const [, token] = /^ApplePass ([\x21-\x7e]{1,255})$/.exec(event.req.headers.get('authorization') ?? '') ?? []
  const serialNumber = SerialNumber.safeParse(decoded(event.context.params?.serial)).data
  const ofType = token && serialNumber ? await services.identities.ofAccount('apple', typeOf(event)) : []
  const found = serialNumber && ofType.length > 0 ? await findHeld(serialNumber, ofType, services) : undefined
  if (found && token && isEqual(token, found.pass.appleToken)) return found
  limitRefused(event)
  throw new ApiError('UNAUTHORIZED', {
    message: 'Send the authentication token of the pass as Authorization: ApplePass.',
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

async function bodyOf<T extends z.ZodType>(event: H3Event, schema: T): Promise<z.output<T>> {
  const result = schema.safeParse(await readJson(event, MAX_BODY_BYTES))
  if (!result.success) throw new ApiError('VALIDATION_ERROR')
  return result.data
}

function deviceIdOf(event: H3Event): string {
  const result = DeviceId.safeParse(decoded(event.context.params?.device))
  if (!result.success) throw new ApiError('VALIDATION_ERROR')
  return result.data
}

function typeOf(event: H3Event): string {
  return decoded(event.context.params?.type)
}

/** @throws ApiError VALIDATION_ERROR */
function decoded(part = ''): string {
  try {
    return decodeURIComponent(part)
  } catch (cause) {
    throw new ApiError('VALIDATION_ERROR', { cause })
  }
}

/** lastUpdated must be a string: a number stops the updates of a phone. It is opaque to phones and only ever grows. */
function walletTag({ tag, passId }: DevicePlace): string {
  return passId === undefined ? `v${tag}` : `v${tag}-${passId}`
}

/** `null` if the phone names none. A tag that is not ours is older than every change. */
function parseTag(text: string | null): DevicePlace | null {
  if (text === null) return null
  const [, digits, id] = /^v(\d{1,15})(?:-(.{36}))?$/.exec(text) ?? []
  const passId = Uuid.safeParse(id).data
  if (digits === undefined || (id !== undefined && passId === undefined)) return { tag: 0 }
  return { tag: Number(digits), passId }
}
