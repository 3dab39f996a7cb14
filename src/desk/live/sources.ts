import type { Envelope } from '../../core/contract/deliveries.ts'
import type { ScanStats, ScanStatsByGate, ScanStatsByTime } from '../../core/contract/scans.ts'
import type { Scope } from '../../core/route.ts'
import type { Api } from './api.ts'
import { listAll } from './pages.ts'

/** What sources are read for. */
export interface Facts {
  api: Api
  projectId: string
  /** The beginning of the figures: see beginningOf. */
  from: string
  /** The beginning of the entries per minute: see PACE_MINUTES. */
  paceFrom: string
  zone: string
}

/** Something that the page shows: one answer of the interface, or a few. */
export interface Source<F, T> {
  /** What the token must hold; null where any will do. */
  scope: Scope | null
  /** Whether an event may have changed it; the rest is read every few seconds. */
  isTouchedBy?: (type: Envelope['type']) => boolean
  load(facts: F): Promise<T>
}

/** Fixes the type of each answer. */
function source<F, T>(definition: Source<F, T>): Source<F, T> {
  return definition
}

const byScans = (type: Envelope['type']) => type === 'pass.scanned'
const byPasses = () => true

const RECENT = 8

/** Broadcasts of which the page says how far they have come. */
const SHOWN = 5

/** What the board of a project shows. */
export const boardSources = {
  figures: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: ({ api, projectId, from, zone }: Facts) =>
      api.projects.figures({ params: { id: projectId }, query: { from, by: 'hour', zone } }),
  }),
  freshness: source({
    scope: 'passes:read',
    load: ({ api, projectId }: Facts) => api.wallets.slo({ query: { projectId } }),
  }),
  scanTotals: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, projectId, from }: Facts) => api.scans.stats({ query: { projectId, from } }) as Promise<ScanStats>,
  }),
  scanGates: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, projectId, from }: Facts) =>
      api.scans.stats({ query: { projectId, from, groupBy: 'gate' } }) as Promise<ScanStatsByGate>,
  }),
  /** Read every few seconds, since entries per minute decrease without an event. */
  pace: source({
    scope: 'scans:read',
    load: ({ api, projectId, paceFrom: from }: Facts) =>
      api.scans.stats({ query: { projectId, from, groupBy: 'gate' } }) as Promise<ScanStatsByGate>,
  }),
  passTotals: source({
    scope: 'templates:read',
    load: ({ api, projectId: id }: Facts) => api.projects.stats({ params: { id } }),
  }),
  scanHours: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, projectId, from, zone }: Facts) =>
      api.scans.stats({ query: { projectId, from, by: 'hour', zone } }) as Promise<ScanStatsByTime>,
  }),
  latestScans: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, projectId }: Facts) => api.scans.list({ query: { projectId, limit: RECENT } }),
  }),
  broadcasts: source({
    scope: 'pass-notifications:read',
    load: async ({ api, projectId: id }: Facts) => {
      const { items } = await api.broadcasts.list({ params: { id }, query: { limit: SHOWN } })
      return Promise.all(
        items.map(async (broadcast) => ({
          broadcast,
          stats:
            broadcast.status === 'SCHEDULED'
              ? null
              : await api.broadcasts.stats({ params: { id, broadcastId: broadcast.id } }),
        })),
      )
    },
  }),
  deliveries: source({
    scope: 'webhooks:read',
    load: ({ api }: Facts) => api.deliveries.list({ query: { lastAttempt: 'failed', limit: RECENT } }),
  }),
  identities: source({
    scope: 'templates:read',
    load: ({ api }: Facts) => api.identities.list({ query: { limit: 100 } }),
  }),
  workspace: source({
    scope: null,
    load: ({ api }: Facts) => api.workspace.get(),
  }),
  doors: source({
    scope: 'scans:read',
    load: ({ api, projectId }: Facts) => listAll(api.doors.list, { projectId, revoked: false }),
  }),
}

/** What the whole view of a pass is made of. */
export interface PassFacts {
  api: Api
  passId: string
}

/** What the view of one pass shows. */
export const passSources = {
  pass: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: ({ api, passId: id }: PassFacts) => api.passes.get({ params: { id }, query: { include: 'wallets' } }),
  }),
  cards: source({
    scope: 'passes:read',
    load: async ({ api, passId: id }: PassFacts) => {
      const html = (await api.passes.preview({ params: { id }, query: { format: 'html' } })) as unknown as Uint8Array
      return new TextDecoder().decode(html)
    },
  }),
  redemption: source({
    scope: 'scans:read',
    isTouchedBy: byPasses,
    load: ({ api, passId: id }: PassFacts) => api.scans.explain({ params: { id } }),
  }),
  scans: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, passId }: PassFacts) => api.scans.list({ query: { passId, limit: 50 } }),
  }),
  notifications: source({
    scope: 'pass-notifications:read',
    load: ({ api, passId: id }: PassFacts) => api.notifications.list({ params: { id }, query: { limit: 50 } }),
  }),
  logs: source({
    scope: 'passes:read',
    load: ({ api, passId }: PassFacts) => api.wallets.logs({ query: { passId, limit: 50 } }),
  }),
}

const HOUR_MS = 3_600_000

/** Entries per minute are the mean of so many minutes. */
export const PACE_MINUTES = 5

/** The beginning of the entries per minute. */
export function paceBeginningOf(now: Date): string {
  return new Date(now.getTime() - PACE_MINUTES * 60_000).toISOString()
}

/** Figures are those of this hour and the 23 before it. */
export function beginningOf(now: Date): string {
  return new Date((Math.floor(now.getTime() / HOUR_MS) - 23) * HOUR_MS).toISOString()
}

/** Each named number added up over some buckets. */
export function sumOf<T>(items: readonly T[], numberOf: (item: T) => number): number {
  return items.reduce((sum, item) => sum + numberOf(item), 0)
}

/** The number of passes that a broadcast reached in at least one wallet. */
export function reachedBy({ sent, partial }: { sent: number; partial: number }): number {
  return sent + partial
}
