import type { EngineState, Problem } from './engine.ts'
import type { Identity, StoreSummary } from './store/engine-store.ts'

/** The facts in memory from which the state of an engine is computed, in addition to the stored data. */
export interface Known extends Pick<EngineState, 'loading' | 'listRejection' | 'uploadRejection' | 'isPersistent'> {
  identity: Identity | undefined
  connection: Pick<EngineState, 'connection' | 'offlineSince'>
  /** Whether the operator dismissed the message about decisions of another project. */
  isElsewhereRead: boolean
  /** The problems, except those that are derived from the store and the clock. */
  problems: ReadonlyMap<Problem['code'], Problem>
  clockOffsetMs: number
}

/**
 * The clock error, in milliseconds, above which the operator is warned. Without a correction, such an error would cause
 * wrong decisions near the limits of validity windows.
 */
const CLOCK_WRONG_MS = 60_000

const GRAVITY: Problem['code'][] = [
  'storage_full',
  'storage_lost',
  'revoked',
  'refused',
  'server_too_old',
  'offline_disabled',
  'rejected',
  'pending_elsewhere',
  'exit_deleted',
  'zone_deleted',
  'counts_held',
  'clock_wrong',
]

export function stateOf(stored: StoreSummary, known: Known): EngineState {
  const { identity, connection, loading, listRejection, uploadRejection, isPersistent } = known
  const { zones } = stored
  return {
    door: identity?.door ?? null,
    zone: zones.find(({ id }) => id === identity?.door.movement?.zoneId) ?? null,
    zones,
    ...connection,
    list: stored.list && { size: stored.list.size, generatedAt: new Date(stored.list.generatedAt) },
    loading,
    listRejection,
    uploadRejection,
    pending: totalOf(stored.waiting),
    conflicts: stored.conflicts,
    recent: stored.recent,
    counts: stored.counts,
    problems: problemsOf(stored, known),
    isPersistent,
  }
}

function totalOf(waiting: StoreSummary['waiting']): number {
  return [...waiting.values()].reduce((sum, count) => sum + count, 0)
}

function problemsOf(
  { waiting, held, rejections }: StoreSummary,
  { identity, problems, clockOffsetMs, isElsewhereRead }: Known,
): Problem[] {
  const found = [...problems.values()]
  if (identity?.deletedExit && identity.deletedExit === identity.door.movement?.zoneId)
    found.push({ code: 'exit_deleted' })
  if (identity?.deletedZone !== undefined) found.push({ code: 'zone_deleted', name: identity.deletedZone })
  const elsewhere = identity ? totalOf(waiting) - (waiting.get(identity.door.projectId) ?? 0) : 0
  if (elsewhere > 0 && !isElsewhereRead) found.push({ code: 'pending_elsewhere', pending: elsewhere })
  const references = held.flatMap((one) => (one.projectId === identity?.door.projectId ? one.externalRef : []))
  if (references.length > 0) found.push({ code: 'counts_held', references })
  const last = rejections.at(-1)
  if (last) {
    const { rejection = '', isOfAnother = false, scannedAt } = last
    found.push({ code: 'rejected', scans: rejections.length, message: rejection, scannedAt, isOfAnother })
  }
  if (Math.abs(clockOffsetMs) > CLOCK_WRONG_MS) found.push({ code: 'clock_wrong', byMs: Math.round(-clockOffsetMs) })
  return found.toSorted((a, b) => GRAVITY.indexOf(a.code) - GRAVITY.indexOf(b.code))
}

/**
 * The facts that are stored separately from the database: whether this phone is a door, and its number of pending
 * entries.
 */
interface Marker {
  door: string | null
  pending: number
  /** Set if the door of this phone was revoked, until the phone is a door again. */
  isRevoked?: true
}

/** Returns the problems of a phone that is not a door now, according to its marker: lost data, or a revoked door. */
export function markedProblems(text: string | null, identity: Identity | undefined): Problem[] {
  if (text === null || identity) return []
  const { door, pending, isRevoked } = JSON.parse(text) as Marker
  if (isRevoked) return [{ code: 'revoked' }]
  return door === null ? [] : [{ code: 'storage_lost', pending }]
}

export function markerOf(identity: Identity | undefined, waiting: StoreSummary['waiting'], isRevoked: boolean): string {
  const marker: Marker = { door: identity?.door.id ?? null, pending: totalOf(waiting), ...(isRevoked && { isRevoked }) }
  return JSON.stringify(marker)
}
