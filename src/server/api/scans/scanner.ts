import type { scanner as contract } from '../../../core/contract/scanner.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { effectiveStatus } from '../../../core/rules/pass/pass-status.ts'
import {
  decodeSnapshotCursor,
  encodeSnapshotCursor,
  generatedAt,
  isStale,
  type Snapshot,
  startSnapshot,
} from '../../../core/rules/redemption/snapshot.ts'
import type { DoorListEntry } from '../../../storage/scans/door-list.ts'
import type { RequestContext } from '../../context.ts'
import type { Handlers } from '../../http/mount.ts'
import { reportScans } from './report-scans.ts'

export const scanner: Handlers<typeof contract> = {
  snapshot: async ({ query }, context) => {
    requireOfflineScanning(context)
    const { store, workspaceId, now } = context
    const snapshot: Walk =
      query.cursor === undefined
        ? startSnapshot(query.projectId ?? null, now)
        : readCursor(query.cursor, query.projectId)
    if (isStale(snapshot, now)) throw new ApiError('SCANNER_SNAPSHOT_STALE', { details: { snapshotId: snapshot.id } })
    const { rows, hasMore } = await store.doorList.list(workspaceId, {
      projectId: snapshot.projectId,
      madeUntil: generatedAt(snapshot),
      limit: query.limit,
      ...(snapshot.passId !== undefined && { after: snapshot.passId }),
    })
    await requireProject(snapshot.projectId, context)
    const last = rows.at(-1)
    return {
      status: 200,
      body: {
        id: snapshot.id,
        projectId: snapshot.projectId,
        generatedAt: generatedAt(snapshot).toISOString(),
        items: rows.map((entry) => toItem(entry, now)),
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
  const walk = decodeSnapshotCursor(cursor)
  if (!walk) throw validationError([{ path: ['cursor'], message: 'Is not a cursor of a snapshot' }])
  if (projectId !== undefined && projectId !== walk.projectId) {
    throw validationError([
      { path: ['cursor'], message: 'Belongs to the snapshot of another project; start without a cursor' },
    ])
  }
  return walk
}

function toItem({ expiresAt, acceptedScans, ...entry }: DoorListEntry, now: Date) {
  return {
    ...entry,
    status: effectiveStatus({ status: entry.status, expiresAt }, now),
    expiresAt: expiresAt?.toISOString() ?? null,
    acceptedScans: acceptedScans.map(({ scannedAt, scanContextKey, validityDate }) => ({
      scannedAt: scannedAt.toISOString(),
      scanContextKey: scanContextKey || null,
      ...(validityDate !== null && { validityDate }),
    })),
  }
}
