import { z } from 'zod'
import type { BarcodeFormat } from '../../../core/barcode-formats.ts'
import type { scanner as contract } from '../../../core/contract/scans/scanner.ts'
import type { Definition } from '../../../core/contract/schemas/definition.ts'
import type { DoorView } from '../../../core/contract/schemas/scan-shapes.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { groupBy } from '../../../core/group-by.ts'
import { newId, Uuid } from '../../../core/ids.ts'
import { type BalanceSums, balanceValue } from '../../../core/rules/balances/balances.ts'
import { readFormatOf } from '../../../core/rules/display/card.ts'
import { doorViewOf } from '../../../core/rules/display/door-view.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { SnapshotEntry } from '../../../storage/scans/snapshot-entries.ts'
import { type ChangePlace, changeSources, type StoredSnapshot } from '../../../storage/scans/snapshots.ts'
import type { CurrentMovement } from '../../../storage/zones/movements-repository.ts'
import type { StoredZone } from '../../../storage/zones/zones-repository.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { projectOfScan, requireProject } from '../token-projects.ts'
import { toZone } from '../zones/zones-handlers.ts'
import { reportScans } from './report-scans.ts'

/** The maximum age of a snapshot. An older snapshot lacks too many of the latest scans, so its pages are not served. */
const MAX_AGE_MS = 24 * 3_600_000

/** The start of the next page: after a pass of a whole snapshot, or after a change since an earlier snapshot. */
type Position = { after: string } | { since: string; after: ChangePlace }

interface PageCursor {
  id: string
  projectId: string | null
  position: Position
}

const Whole = z.tuple([Uuid, Uuid.nullable(), Uuid])
const Delta = z.tuple([Uuid, Uuid.nullable(), Uuid, z.enum(changeSources), z.union([z.string(), z.number()]), Uuid])

function encodeCursor({ id, projectId, position }: PageCursor): string {
  const { after } = position
  const rest = 'since' in position ? [position.since, ...placeOf(position.after)] : [after]
  return Buffer.from(JSON.stringify([id, projectId, ...rest])).toString('base64url')
}

const placeOf = ({ source, key, id }: ChangePlace) => [source, key, id]

function decodeCursor(text: string): PageCursor | undefined {
  try {
    const values = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (values.length === 3) {
      const [id, projectId, after] = Whole.parse(values)
      return { id, projectId, position: { after } }
    }
    const [id, projectId, since, source, key, changeId] = Delta.parse(values)
    return { id, projectId, position: { since, after: { source, key, id: changeId } } }
  } catch {
    return undefined
  }
}

export const scanner: Handlers<typeof contract> = {
  snapshot: async ({ query }, context) => {
    requireOfflineScanning(context)
    const pageCursor = query.cursor === undefined ? undefined : readCursor(query.cursor, query)
    const projectId = pageCursor ? pageCursor.projectId : (projectOfScan(query.projectId, context) ?? null)
    const since = await findSince(pageCursor, { since: query.since, projectId }, context)
    const list = pageCursor && (await findSnapshot(pageCursor.id, { projectId }, context))
    const begin = () => beginList(projectId, context)
    const read = async (until: StoredSnapshot) => {
      const page = await readPage({ since, until }, pageCursor, query.limit, context)
      // Check the project after each page. Otherwise, a client would take the empty page of a deleted project for the
      // end of the list.
      if (projectId !== null) await requireProject(context.store, context.workspaceId, projectId)
      return page
    }
    if (!context.token.door || projectId === null) return read(list ?? (await begin()))
    // The doors of a project share pages, because all of them can see the same data.
    const key = [since?.id, pageCursor?.position.after, query.limit]
    const readSealed = async (until: StoredSnapshot) => {
      const { nextCursor, ...page } = await read(until)
      return { ...page, nextCursor: nextCursor && context.sealCursor(nextCursor) }
    }
    return context.services.doorLists.page({ projectId, list, key, begin, read: readSealed }, context)
  },

  report: async ({ body }, context) => {
    requireOfflineScanning(context)
    return { results: await reportScans(body.scans, context) }
  },
}

function beginList(projectId: string | null, { store, workspaceId, now }: RequestContext): Promise<StoredSnapshot> {
  return store.statement((tx) => tx.snapshots.insert(workspaceId, { id: newId(now), projectId, madeAt: now }))
}

async function readPage(
  { since, until }: { since: StoredSnapshot | undefined; until: StoredSnapshot },
  pageCursor: PageCursor | undefined,
  limit: number,
  context: RequestContext,
) {
  const { rows, removed, next } = since
    ? await readChanges({ since, until }, pageCursor, limit, context)
    : await readWhole(until, pageCursor, limit, context)
  const { id, projectId } = until
  const definitions = await definitionsOf(rows, context)
  const doors = await doorViews(rows, definitions, context)
  const zones = await context.store.zones.listOfProject(context.workspaceId, projectId)
  const presences = await presencesOf(rows, zones, context)
  return {
    id,
    projectId,
    generatedAt: until.madeAt.toISOString(),
    items: rows.map((entry) =>
      toItem(
        { ...entry, presence: presences.get(entry.passId) },
        definitions.get(entry.templateVersionId),
        doors.get(entry.passId),
        context.now,
      ),
    ),
    ...(zones.length > 0 && { zones: zones.map(toZone) }),
    ...(removed && { removed }),
    nextCursor: next && encodeCursor({ id, projectId, position: next }),
    hasMore: next !== null,
  }
}

async function findSince(
  pageCursor: PageCursor | undefined,
  { since, projectId }: { since: string | undefined; projectId: string | null },
  context: RequestContext,
): Promise<StoredSnapshot | undefined> {
  if (pageCursor)
    return 'since' in pageCursor.position
      ? findSnapshot(pageCursor.position.since, { projectId }, context, 2)
      : undefined
  if (since === undefined) return undefined
  const snapshot = await findSnapshot(since, { projectId }, context)
  const renamed = await context.store.snapshots.findRenamedTemplate(context.workspaceId, snapshot)
  if (renamed === undefined) return snapshot
  throw stale(
    since,
    'Since the snapshot, a template was renamed, so all of its passes have changed. Fetch a whole snapshot.',
  )
}

/**
 * @param ages the maximum age, as a multiple of MAX_AGE_MS. It is 2 while the pages of a list of changes are read,
 * because the snapshot on which the list is based gets older in the meantime
 * @throws ApiError SCANNER_SNAPSHOT_STALE if the snapshot is too old, or no longer exists
 */
async function findSnapshot(
  id: string,
  { projectId }: { projectId: string | null },
  { store, workspaceId, now, services }: RequestContext,
  ages = 1,
): Promise<StoredSnapshot> {
  const snapshot = services.doorLists.find(workspaceId, id) ?? (await store.snapshots.find(workspaceId, id))
  const isKnown = snapshot !== undefined && snapshot.projectId === projectId
  if (isKnown && now.getTime() - snapshot.madeAt.getTime() <= ages * MAX_AGE_MS) return snapshot
  throw stale(
    id,
    isKnown
      ? 'The snapshot is older than 24 hours. Fetch a whole snapshot, without since and cursor.'
      : 'The snapshot no longer exists. Fetch a whole snapshot, without since and cursor.',
  )
}

function stale(snapshotId: string, message: string): ApiError {
  return new ApiError('SCANNER_SNAPSHOT_STALE', { message, details: { snapshotId } })
}

interface SnapshotPage {
  rows: SnapshotEntry[]
  removed?: string[]
  next: Position | null
}

async function readWhole(
  { projectId, madeAt }: StoredSnapshot,
  pageCursor: PageCursor | undefined,
  limit: number,
  { store, workspaceId }: RequestContext,
): Promise<SnapshotPage> {
  const after = pageCursor?.position.after as string | undefined
  const request = { projectId, madeUntil: madeAt, limit, ...(after !== undefined && { after }) }
  const { rows, hasMore } = await store.snapshotEntries.list(workspaceId, request)
  const last = rows.at(-1)
  return { rows, next: hasMore && last ? { after: last.passId } : null }
}

async function readChanges(
  changes: { since: StoredSnapshot; until: StoredSnapshot },
  pageCursor: PageCursor | undefined,
  limit: number,
  { store, workspaceId }: RequestContext,
): Promise<SnapshotPage> {
  const after = pageCursor?.position.after as ChangePlace | undefined
  const { rows, removed, next } = await store.snapshotEntries.listChanges(workspaceId, { ...changes, after, limit })
  return { rows, removed, next: next && { since: changes.since.id, after: next } }
}

function requireOfflineScanning({ token }: RequestContext): void {
  if (!token.workspace.offlineScanning) throw new ApiError('SCANNER_OFFLINE_DISABLED')
}

function readCursor(
  cursor: string,
  { projectId, since }: { projectId?: string | undefined; since?: string | undefined },
) {
  const pageCursor = decodeCursor(cursor)
  if (!pageCursor) throw validationError([{ path: ['cursor'], message: 'Is not a cursor of a snapshot; omit it' }])
  if (projectId !== undefined && projectId !== pageCursor.projectId) {
    throw validationError([
      { path: ['cursor'], message: 'Belongs to the snapshot of another project; start without a cursor' },
    ])
  }
  if (since !== undefined && !('since' in pageCursor.position && pageCursor.position.since === since)) {
    throw validationError([{ path: ['cursor'], message: 'Does not belong to this "since"; start without a cursor' }])
  }
  return pageCursor
}

/** The maximum number of passes per read. It is low, because variables can be large. */
const DOORS_AT_ONCE = 100

type DoorDefinition = Pick<Definition, 'variables' | 'balances' | 'balanceRules' | 'door' | 'event' | 'trip'> & {
  barcodeFormat: BarcodeFormat | undefined
}

/** Returns the parts of definitions that doors need, by version ID. */
async function definitionsOf(
  entries: SnapshotEntry[],
  { workspaceId, services }: RequestContext,
): Promise<Map<string, DoorDefinition>> {
  const found = new Map<string, DoorDefinition>()
  for (const id of new Set(entries.map(({ templateVersionId }) => templateVersionId))) {
    const definition = await services.definitions.find(workspaceId, id)
    if (!definition) continue
    const { variables, balances, balanceRules, door, event, trip } = definition
    const barcodeFormat = readFormatOf(definition)
    found.set(id, { variables, balances, balanceRules, door, event, trip, barcodeFormat })
  }
  return found
}

/** Returns the views for door staff, by pass ID, of passes whose version has a view. Does not read other passes. */
async function doorViews(
  entries: SnapshotEntry[],
  definitions: Map<string, DoorDefinition>,
  { store, workspaceId }: RequestContext,
): Promise<Map<string, DoorView>> {
  const withDoor = new Map([...definitions].filter(([, { door }]) => door))
  const ids = entries.filter(({ templateVersionId: id }) => withDoor.has(id)).map(({ passId }) => passId)
  const views = new Map<string, DoorView>()
  for (let first = 0; first < ids.length; first += DOORS_AT_ONCE) {
    const passes = await store.passes.listByIds(workspaceId, ids.slice(first, first + DOORS_AT_ONCE))
    for (const pass of passes) {
      const definition = withDoor.get(pass.templateVersionId)
      const view = definition && doorViewOf(definition, buildScope(definition, pass, pass.expiresAt))
      if (view) views.set(pass.id, view)
    }
  }
  return views
}

/** Returns the last movement of each pass in each zone since the last reset of the zone, by pass ID. */
async function presencesOf(
  entries: SnapshotEntry[],
  zones: StoredZone[],
  { store, workspaceId }: RequestContext,
): Promise<Map<string, CurrentMovement[]>> {
  const passIds = zones.length === 0 ? [] : entries.map(({ passId }) => passId)
  return groupBy(await store.movements.listCurrent(workspaceId, passIds), ({ passId }) => passId)
}

function toPresence({ zoneId, direction, at, place, use }: CurrentMovement) {
  return {
    zoneId,
    direction,
    at: at.toISOString(),
    gate: place ?? null,
    use: use && { scannedAt: use.scannedAt.toISOString(), scanContextKey: use.scanContextKey },
  }
}

function toBalances({ balances = {}, balanceRules = [] }: DoorDefinition, sums: BalanceSums | null) {
  return Object.entries(balances).map(([name, balance]) => ({
    name,
    label: balance.label,
    currency: balance.currency ?? null,
    value: balanceValue(balance, name, sums),
    min: balance.min,
    max: balance.max ?? null,
    delta: balanceRules.find((rule) => rule.balance === name)?.delta ?? 0,
    offlineAllowance: balance.offlineAllowance,
  }))
}

function toItem(
  {
    expiresAt,
    acceptedScans,
    templateVersionId: _,
    groupId,
    presence,
    balanceSums,
    ...entry
  }: SnapshotEntry & { presence: CurrentMovement[] | undefined },
  definition: DoorDefinition | undefined,
  door: DoorView | undefined,
  now: Date,
) {
  const barcodeFormat = definition?.barcodeFormat
  return {
    ...entry,
    ...(barcodeFormat !== undefined && { barcodeFormat }),
    ...(door && { door }),
    ...(presence && { presence: presence.map(toPresence) }),
    ...(definition?.balances && { balances: toBalances(definition, balanceSums) }),
    ...(groupId !== null && { groupId }),
    status: effectiveStatus({ status: entry.status, expiresAt }, now),
    expiresAt: expiresAt?.toISOString() ?? null,
    acceptedScans: acceptedScans.map(({ scannedAt, scanContextKey, validityDate }) => ({
      scannedAt: scannedAt.toISOString(),
      scanContextKey: scanContextKey || null,
      ...(validityDate !== null && { validityDate }),
    })),
  }
}
