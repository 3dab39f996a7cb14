import { z } from 'zod'
import type { Definition } from '../../../core/contract/definition.ts'
import type { DoorView } from '../../../core/contract/scan-shapes.ts'
import type { scanner as contract } from '../../../core/contract/scanner.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { newId, Uuid } from '../../../core/ids.ts'
import { doorViewOf } from '../../../core/rules/display/door-view.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import { buildScope } from '../../../core/rules/template/resolve.ts'
import type { SnapshotEntry } from '../../../storage/scans/snapshot.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { projectOfScan } from '../token-projects.ts'
import { reportScans } from './report-scans.ts'

/** A snapshot that a scanner takes with it. Its pages are read one by one, and nothing of it is kept here. */
interface Snapshot {
  /** Of version 7: it holds the moment that the list is of. */
  id: string
  projectId: string | null
}

/** Pages are given out for so long: a list that is older says too little about who was let in since. */
const MAX_AGE_MS = 24 * 3_600_000

function startSnapshot(projectId: string | null, at: Date): Snapshot {
  return { id: newId(at), projectId }
}

function generatedAt({ id }: Snapshot): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16))
}

function isStale(snapshot: Snapshot, at: Date): boolean {
  return at.getTime() - generatedAt(snapshot).getTime() > MAX_AGE_MS
}

const Encoded = z.tuple([Uuid, Uuid.nullable(), Uuid])

/** Where the next page of a snapshot begins: after a pass. Opaque to callers. */
function encodeSnapshotCursor({ id, projectId }: Snapshot, passId: string): string {
  return Buffer.from(JSON.stringify([id, projectId, passId])).toString('base64url')
}

/** The snapshot and the pass to go on after, or undefined for what is no cursor of a snapshot. */
function decodeSnapshotCursor(text: string): (Snapshot & { passId: string }) | undefined {
  try {
    const [id, projectId, passId] = Encoded.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    return { id, projectId, passId }
  } catch {
    return undefined
  }
}

/** Handlers of /v1/scanner/snapshot and /v1/scans/offline: what a door needs to go on without the server. */
export const scanner: Handlers<typeof contract> = {
  snapshot: async ({ query }, context) => {
    requireOfflineScanning(context)
    const { store, workspaceId, now } = context
    if (query.since !== undefined)
      throw new ApiError('SCANNER_SNAPSHOT_STALE', { details: { snapshotId: query.since } })
    const snapshot: Walk =
      query.cursor === undefined
        ? startSnapshot(projectOfScan(query.projectId, context) ?? null, now)
        : readCursor(query.cursor, query.projectId)
    if (isStale(snapshot, now)) throw new ApiError('SCANNER_SNAPSHOT_STALE', { details: { snapshotId: snapshot.id } })
    const { rows, hasMore } = await store.snapshots.list(workspaceId, {
      projectId: snapshot.projectId,
      madeUntil: generatedAt(snapshot),
      limit: query.limit,
      ...(snapshot.passId !== undefined && { after: snapshot.passId }),
    })
    await requireProject(snapshot.projectId, context)
    const doors = await doorViews(rows, context)
    const last = rows.at(-1)
    return {
      status: 200,
      body: {
        id: snapshot.id,
        projectId: snapshot.projectId,
        generatedAt: generatedAt(snapshot).toISOString(),
        items: rows.map((entry) => toItem(entry, doors.get(entry.passId), now)),
        nextCursor: hasMore && last ? encodeSnapshotCursor(snapshot, last.passId) : null,
        hasMore,
      },
    }
  },

  report: async ({ body }, context) => {
    requireOfflineScanning(context)
    return { status: 200, body: { results: await reportScans(body.scans, context) } }
  },
}

/** @throws Problem SCANNER_OFFLINE_DISABLED */
function requireOfflineScanning({ token }: RequestContext): void {
  if (!token.workspace.offlineScanning) throw new ApiError('SCANNER_OFFLINE_DISABLED')
}

type Walk = Snapshot & { passId?: string }

/** Behind each page, so that the page of a project that was deleted meanwhile is never taken for the end of its list. */
async function requireProject(projectId: string | null, { store, workspaceId }: RequestContext): Promise<void> {
  if (projectId === null || (await store.projects.find(workspaceId, projectId))) return
  throw new ApiError('NOT_FOUND', { message: 'There is no such project.', details: { projectId } })
}

/** A project that is named beside the cursor must be that of the snapshot. */
function readCursor(cursor: string, projectId: string | undefined): Walk {
  const position = decodeSnapshotCursor(cursor)
  if (!position) throw validationError([{ path: ['cursor'], message: 'Is not a cursor of a snapshot' }])
  if (projectId !== undefined && projectId !== position.projectId) {
    throw validationError([
      { path: ['cursor'], message: 'Belongs to the snapshot of another project; start without a cursor' },
    ])
  }
  return position
}

/** Variables may be large: those of so many passes are in memory at once. */
const DOORS_AT_ONCE = 100

/** What operators must see of the passes whose versions say so; no others are read. */
async function doorViews(
  entries: SnapshotEntry[],
  { store, workspaceId, definitions }: RequestContext,
): Promise<Map<string, DoorView>> {
  const withDoor = new Map<string, Definition>()
  for (const id of new Set(entries.map(({ templateVersionId }) => templateVersionId))) {
    const definition = await definitions.find(workspaceId, id)
    if (definition?.door) withDoor.set(id, definition)
  }
  const ids = entries.filter(({ templateVersionId: id }) => withDoor.has(id)).map(({ passId }) => passId)
  const views = new Map<string, DoorView>()
  for (let first = 0; first < ids.length; first += DOORS_AT_ONCE) {
    const passes = await store.passes.listByIds(workspaceId, ids.slice(first, first + DOORS_AT_ONCE))
    for (const pass of passes) {
      const definition = withDoor.get(pass.templateVersionId)
      const view = definition && doorViewOf(definition, buildScope(definition.variables, pass, pass.expiresAt))
      if (view) views.set(pass.id, view)
    }
  }
  return views
}

function toItem(
  { expiresAt, acceptedScans, templateVersionId: _, groupId, ...entry }: SnapshotEntry,
  door: DoorView | undefined,
  now: Date,
) {
  return {
    ...entry,
    ...(door && { door }),
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
