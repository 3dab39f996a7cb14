import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { PassImport, type passes as routes } from '../../../core/contract/passes.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { checkVariablesSize } from '../../../core/rules/template/variables.ts'
import { mapInSlices } from '../../../core/slices.ts'
import { asImported, type ImportedPass, type TakenNames } from '../../../storage/passes/imported-passes.ts'
import { asStored, type StoredPass } from '../../../storage/passes/pass-row.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { PublishedVersion } from '../../../storage/templates/template-versions-repository.ts'
import type { RequestContext } from '../../context.ts'
import { compileVersion } from '../../pass-content/compile-version.ts'
import { usesOf } from '../../pass-content/pass-images.ts'
import type { ClaimingPass } from '../../pass-content/shared-classes.ts'
import { audit } from '../audit.ts'
import { admitPasses, findExisting, type Inserted, parseItem, planPass } from './create-passes.ts'
import {
  findIdentityMismatch,
  type ImportVersion,
  type NamedDevices,
  openVersion,
  rejectFullDevices,
} from './import-checks.ts'

type ImportBody = z.output<typeof routes.import.body>

/** The result of an item. In a dry run, `pass` is omitted. */
export type ImportResult =
  | { externalPassId: string; pass?: StoredPass; isNew: boolean }
  | { externalPassId: string; problem: ApiError }

interface ImportItem {
  pass: PassImport
  digest: string
}

type PlannedImport = ClaimingPass & Omit<ImportedPass, keyof ClaimingPass | 'googleClassId'> & { item: ImportItem }

/**
 * Imports passes. Each item succeeds or fails separately, and results are in the order of the items. Passes that were
 * imported earlier stay unchanged. An interrupted call leaves only complete passes. A dry run writes the same rows and
 * rolls back.
 * @throws ApiError TEMPLATE_NOT_FOUND; VALIDATION_ERROR if the workspace cannot use the identity
 */
export async function importPasses(
  { templateId, identityId, passes }: ImportBody,
  { dryRun }: { dryRun: boolean },
  context: RequestContext,
): Promise<ImportResult[]> {
  const version = await openVersion(templateId, identityId, context)
  const parsed = await mapInSlices(passes, (one) => {
    const pass = parseItem(PassImport, one)
    if ('problem' in pass) return pass
    const { externalPassId, variables } = pass
    const oversize = checkVariablesSize(variables)
    if (oversize.length > 0) return { externalPassId, problem: validationError(oversize) }
    return { pass, digest: digestOf(templateId, pass) }
  })
  const items = parsed.filter((item): item is ImportItem => !('problem' in item))
  const before = await findImported(items, context)
  const unknown = items.filter(({ pass }) => !before.has(pass.externalPassId))
  const plans = await planImports(unknown, version, context)
  const planned = [...plans.values()].filter((plan): plan is PlannedImport => !(plan instanceof ApiError))
  const { inserted, rejected } = await insertImports(planned, { dryRun, context })
  // Read the passes that a concurrent request imported first, because `inserted` does not contain them.
  const notInserted = planned.filter(({ externalPassId: id }) => !inserted.has(id) && !rejected.has(id))
  const racedItems = notInserted.map(({ item }) => item)
  const raced = await findImported(racedItems, context)
  const digests = new Map(planned.map(({ externalPassId, importDigest }) => [externalPassId, importDigest]))

  return parsed.map((item): ImportResult => {
    if ('problem' in item) return item
    const { externalPassId } = item.pass
    const plan = plans.get(item)
    if (plan instanceof ApiError) return { externalPassId, problem: plan }
    const found = before.get(externalPassId) ?? raced.get(externalPassId)
    if (found) return resultOfFound(found, item, { templateId, identityId })
    if (digests.get(externalPassId) !== item.digest) return { externalPassId, problem: otherContent() }
    const problem = rejected.get(externalPassId)
    if (problem) return { externalPassId, problem }
    const pass = inserted.get(externalPassId)
    if (!pass) return { externalPassId, problem: namesTaken(context) }
    // An item without a plan repeats the externalPassId of an earlier item, and creates no pass.
    return { externalPassId, isNew: plan !== undefined, ...(!dryRun && { pass }) }
  })
}

/**
 * Returns the digest of a row, independent of the order of its fields. Give a new field of imports no default: it would
 * change the digests of rows that were imported before.
 */
function digestOf(templateId: string, { passTypeIdentifier: _, ...pass }: PassImport): string {
  const devices = pass.devices.toSorted((a, b) => (a.deviceLibraryIdentifier < b.deviceLibraryIdentifier ? -1 : 1))
  const text = JSON.stringify({ ...pass, devices, templateId }, (_name, value: unknown) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  )
  return createHash('sha256').update(text).digest('hex')
}

interface Found {
  pass: StoredPass
  /** The digest of the imported row; undefined for a pass that was created on this server. */
  digest: string | undefined
}

async function findImported(items: ImportItem[], context: RequestContext): Promise<Map<string, Found>> {
  const passes = items.map(({ pass }) => pass)
  const existing = await findExisting(passes, context)
  if (existing.size === 0) return new Map()
  const digests = await context.store.importedPasses.listDigests(context.workspaceId, [...existing.keys()])
  return new Map([...existing].map(([id, pass]) => [id, { pass, digest: digests.get(id) }]))
}

function resultOfFound(
  { pass, digest }: Found,
  item: ImportItem,
  asked: Pick<ImportBody, 'templateId' | 'identityId'>,
): ImportResult {
  const { externalPassId } = item.pass
  const details = { passId: pass.id }
  if (digest === undefined || pass.templateId !== asked.templateId) {
    const what = digest === undefined ? 'that was created on this server' : 'of another template'
    const message = `The externalPassId is already used by a pass ${what}.`
    return { externalPassId, problem: new ApiError('DUPLICATE_PASS', { message, details }) }
  }
  const { identityId } = asked
  const isOfIdentity =
    identityId === undefined || [pass.appleIdentityId, pass.googleIdentityId].some((id) => id === identityId)
  if (!isOfIdentity || digest !== item.digest) return { externalPassId, problem: otherContent(pass.id) }
  return { externalPassId, pass, isNew: false }
}

function otherContent(passId?: string): ApiError {
  return new ApiError('CONFLICT', {
    message: passId
      ? 'The pass was already imported with other content or under another identity. Update it instead.'
      : 'An earlier item has the same externalPassId but other content.',
    details: { ...(passId && { passId }), isOtherContent: true },
  })
}

function namesTaken({ token }: RequestContext): ApiError {
  const message = token.projectIds
    ? 'The externalPassId, the serial number, or the Google object of this pass belongs to another pass.'
    : 'The serial number or the Google object of this pass belongs to another pass of the identity.'
  return new ApiError('DUPLICATE_PASS', { message })
}

/**
 * Maps items to the pass to insert, or to an error. Omits each item that follows a valid item with the same
 * externalPassId, because it creates no pass. If several items have the same serial number or object ID, the first item
 * gets it, and the others get an error.
 */
async function planImports(
  items: ImportItem[],
  imported: ImportVersion,
  context: RequestContext,
): Promise<Map<ImportItem, PlannedImport | ApiError>> {
  const { version } = imported
  const rules = { version, checkPass: compileVersion(version, context.services.wallets) }
  const plans = new Map<ImportItem, PlannedImport | ApiError>()
  const taken = new Set<string>()
  const names = { serialNumbers: new Set<string>(), googleObjectIds: new Set<string>() }
  await mapInSlices(items, (item) => {
    const { externalPassId } = item.pass
    if (taken.has(externalPassId)) return
    const plan = findIdentityMismatch(item.pass, imported) ?? planImport(item, rules, context)
    const isTaken = !(plan instanceof ApiError) && !takeNames(plan, names)
    plans.set(item, isTaken ? namesTaken(context) : plan)
    if (!(plan instanceof ApiError || isTaken)) taken.add(externalPassId)
  })
  return plans
}

function takeNames({ importedSerialNumber, googleObjectId }: PlannedImport, taken: TakenNames): boolean {
  const { serialNumbers, googleObjectIds } = taken
  if (serialNumbers.has(importedSerialNumber ?? '') || googleObjectIds.has(googleObjectId ?? '')) return false
  if (importedSerialNumber !== null) serialNumbers.add(importedSerialNumber)
  if (googleObjectId !== null) googleObjectIds.add(googleObjectId)
  return true
}

function planImport(
  item: ImportItem,
  rules: Parameters<typeof planPass>[1] & { version: PublishedVersion },
  context: RequestContext,
): PlannedImport | ApiError {
  const { passTypeIdentifier: _, serialNumber = null, authenticationToken, googleObjectId, ...rest } = item.pass
  const { status, devices, ...request } = rest
  const scanPayload = request.scanPayload ?? null
  const plan = planPass({ ...request, templateId: rules.version.templateId, scanPayload }, rules, context)
  if (plan instanceof ApiError) return plan
  return {
    ...plan,
    item,
    scanPayload,
    importDigest: item.digest,
    status,
    appleToken: authenticationToken ?? plan.appleToken,
    importedSerialNumber: serialNumber,
    googleObjectId: googleObjectId === undefined ? null : googleObjectId.slice(googleObjectId.indexOf('.') + 1),
    devices: devices.map(({ deviceLibraryIdentifier: deviceId, pushToken }) => ({ deviceId, pushToken })),
  }
}

interface ImportOptions {
  dryRun: boolean
  context: RequestContext
}

async function insertImports(plans: PlannedImport[], options: ImportOptions): Promise<Inserted> {
  const all: Inserted = { inserted: new Map(), rejected: new Map() }
  const { store } = options.context
  let named: NamedDevices = new Map()
  for (const part of partsOf(plans, store.passesPerTurn)) {
    // Keep `named` across parts only in a dry run: a dry run rolls back accepted rows, so the database does not count
    // the passes on their devices.
    if (!options.dryRun) named = new Map()
    const { inserted, rejected } = await inTransaction(options, (tx) => insertPart(tx, part, named, options.context))
    for (const [id, pass] of inserted) all.inserted.set(id, pass)
    for (const [id, problem] of rejected) all.rejected.set(id, problem)
  }
  return all
}

/** The number of devices that count as one pass when passes are divided into transactions. */
const DEVICES_A_PASS = 20

function partsOf(plans: PlannedImport[], passesPerTurn: number): PlannedImport[][] {
  const parts: PlannedImport[][] = []
  let room = 0
  for (const plan of plans) {
    const size = 1 + plan.devices.length / DEVICES_A_PASS
    if (size > room) {
      parts.push([])
      room = passesPerTurn
    }
    parts.at(-1)!.push(plan)
    room -= size
  }
  return parts
}

async function inTransaction<T>(
  { dryRun, context }: ImportOptions,
  work: (tx: Repositories) => Promise<T>,
): Promise<T> {
  if (!dryRun) return context.store.transaction(work)
  const done = new RolledBack<T>()
  await context.store
    .transaction(async (tx) => {
      done.result = await work(tx)
      throw done
    })
    .catch((error: unknown) => {
      if (error !== done) throw error
    })
  return done.result as T
}

class RolledBack<T> extends Error {
  override readonly name = 'RolledBack'
  result: T | undefined
}

async function insertPart(
  tx: Repositories,
  plans: PlannedImport[],
  named: NamedDevices,
  context: RequestContext,
): Promise<Inserted> {
  const { workspaceId, now } = context
  const taken = await rejectTaken(tx, plans, context)
  const untaken = plans.filter(({ externalPassId }) => !taken.has(externalPassId))
  const rejected = new Map([...taken, ...(await rejectFullDevices(tx, workspaceId, untaken, named))])
  // Do not admit rejected passes. Otherwise, they would use up capacity of the workspace and create classes.
  const free = plans.filter(({ externalPassId }) => !rejected.has(externalPassId))
  const admitted = await admitPasses(tx, free, context)
  const accepted = admitted.flatMap((pass, n) => {
    if (!(pass instanceof ApiError)) return [pass]
    rejected.set(free[n]!.externalPassId, pass)
    return []
  })
  const ids = await tx.importedPasses.insert(workspaceId, accepted, now)
  const fresh = accepted.filter(({ id }) => ids.has(id))
  const uses = fresh.flatMap(usesOf)
  if (uses.length > 0) await tx.images.insertUses(workspaceId, uses)
  const groupIds = [...new Set(fresh.flatMap(({ group }) => group?.id ?? []))]
  const generations = await tx.groups.listGenerations(workspaceId, groupIds)
  const [only, ...others] = fresh
  if (only) await audit(tx, context, 'pass.import', others.length > 0 ? null : only.id, { targetCount: fresh.length })
  const stored = fresh.map((pass) => {
    const generation = generations.get(pass.group?.id ?? '')
    return [pass.externalPassId, asImported(asStored(workspaceId, pass, now, generation), pass)] as const
  })
  return { inserted: new Map(stored), rejected }
}

async function rejectTaken(
  tx: Repositories,
  plans: PlannedImport[],
  context: RequestContext,
): Promise<Map<string, ApiError>> {
  const names = {
    serialNumbers: plans.flatMap(({ importedSerialNumber }) => importedSerialNumber ?? []),
    googleObjectIds: plans.flatMap(({ googleObjectId }) => googleObjectId ?? []),
  }
  const taken = await tx.importedPasses.listTaken(names, plans[0]!)
  const isTaken = ({ importedSerialNumber: serial, googleObjectId: object }: PlannedImport) =>
    (serial !== null && taken.serialNumbers.has(serial)) || (object !== null && taken.googleObjectIds.has(object))
  return new Map(plans.filter(isTaken).map(({ externalPassId }) => [externalPassId, namesTaken(context)]))
}
