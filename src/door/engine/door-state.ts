import type { EngineState, Problem } from './engine.ts'
import type { Identity, StoreSummary } from './store.ts'

/** What an engine knows at a moment; its state is made of it. */
export interface Known {
  identity: Identity | undefined
  connection: Pick<EngineState, 'connection' | 'offlineSince'>
  loading: number | null
  waiting: number
  isPersistent: boolean | null
  /** Somebody has read that decisions of another project wait here. */
  isElsewhereRead: boolean
  /** Those that no store and no clock tells of. */
  problems: ReadonlyMap<Problem['code'], Problem>
  clockOffsetMs: number
}

/** From then on the operator is told: scans near the ends of windows would stand wrong in the phone's own eyes. */
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
  'clock_wrong',
]

/** The state of an engine that nothing is known of yet. */
export const nothingStored: StoreSummary = {
  list: null,
  waiting: new Map(),
  recent: [],
  conflicts: [],
  counts: { accepted: 0, turnedAway: 0 },
  rejections: [],
}

/** The state that pages see, of what is stored and what is known beside it. */
export function stateOf(stored: StoreSummary, known: Known): EngineState {
  const { identity, connection, loading, waiting, isPersistent } = known
  return {
    door: identity?.door ?? null,
    ...connection,
    list: stored.list && { size: stored.list.size, generatedAt: new Date(stored.list.generatedAt) },
    loading,
    pending: totalOf(stored.waiting),
    conflicts: stored.conflicts,
    recent: stored.recent,
    counts: stored.counts,
    problems: problemsOf(stored, known),
    waiting,
    isPersistent,
  }
}

/** Decisions and undos that wait, of whatever project. */
function totalOf(waiting: StoreSummary['waiting']): number {
  return [...waiting.values()].reduce((sum, count) => sum + count, 0)
}

function problemsOf(
  { waiting, rejections }: StoreSummary,
  { identity, problems, clockOffsetMs, isElsewhereRead }: Known,
): Problem[] {
  const found = [...problems.values()]
  const elsewhere = identity ? totalOf(waiting) - (waiting.get(identity.door.projectId) ?? 0) : 0
  if (elsewhere > 0 && !isElsewhereRead) found.push({ code: 'pending_elsewhere', pending: elsewhere })
  const last = rejections.at(-1)
  if (last) {
    const { rejection = '', isOfAnother = false } = last
    found.push({ code: 'rejected', scans: rejections.length, message: rejection, isOfAnother })
  }
  if (Math.abs(clockOffsetMs) > CLOCK_WRONG_MS) found.push({ code: 'clock_wrong', byMs: Math.round(-clockOffsetMs) })
  return found.toSorted((a, b) => GRAVITY.indexOf(a.code) - GRAVITY.indexOf(b.code))
}

/** Beside the database: whether this phone is a door, and how much it had still to upload. */
interface Marker {
  door: string | null
  pending: number
}

/** What was lost since the marker was written: null where nothing was. */
export function lossOf(text: string | null, identity: Identity | undefined): number | null {
  if (text === null || identity) return null
  const marker = JSON.parse(text) as Marker
  return marker.door === null ? null : marker.pending
}

/** The marker of what is stored now. */
export function markerOf(identity: Identity | undefined, waiting: StoreSummary['waiting']): string {
  const marker: Marker = { door: identity?.door.id ?? null, pending: totalOf(waiting) }
  return JSON.stringify(marker)
}
