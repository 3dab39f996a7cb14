import type { Envelope } from '../../core/contract/deliveries.ts'
import type { ScanStats, ScanStatsByGate, ScanStatsByTime } from '../../core/contract/scans.ts'
import type { Scope } from '../../core/route.ts'
import { type Api, listAll } from './desk-api.ts'
import { loadCurves, loadEntries } from './zone-curves.ts'

export interface ZoneFacts {
  api: Api
  projectId: string
  /** The start of the current minute. */
  minute: string
  /** The start of the period for entries per minute; see `PACE_MINUTES`. */
  paceFrom: string
}

export interface Facts extends ZoneFacts {
  /** The start of the period that the figures cover; see `beginningOf`. */
  from: string
  timeZone: string
}

/** A source of data for the page, which makes one or more API calls. */
export interface Source<F, T> {
  /** The scope that the token needs; `null` if any token is sufficient. */
  scope: Scope | null
  /**
   * Returns whether an event of this type can change the data. Sources without this function are polled every few
   * seconds.
   */
  isTouchedBy?: (type: Envelope['type']) => boolean
  /** Whether to poll the source even while events arrive, because its data also changes without events. */
  isPolled?: true
  load(facts: F): Promise<T>
}

function source<F, T>(definition: Source<F, T>): Source<F, T> {
  return definition
}

const byScans = (type: Envelope['type']) => type === 'pass.scanned'
const byPasses = () => true

const RECENT = 8

/** The maximum number of broadcasts with progress, and of entries per balance, that the page shows. */
const SHOWN = 5

export const zoneSources = {
  zones: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    /** Poll the zones, because adjustments and resets have no event. */
    isPolled: true,
    load: ({ api, projectId }: ZoneFacts) => listAll(api.zones.list, { projectId }),
  }),
  curves: source({
    scope: 'scans:read',
    load: ({ api, projectId, minute }: ZoneFacts) => loadCurves(api, projectId, minute),
  }),
  /** The entries of each zone, separate from `curves`, which lack the current minute. Polled like `pace`. */
  zonePaces: source({
    scope: 'scans:read',
    load: ({ api, projectId, paceFrom }: ZoneFacts) => loadEntries(api, projectId, paceFrom),
  }),
  passTotals: source({
    scope: 'templates:read',
    load: ({ api, projectId: id }: ZoneFacts) => api.projects.stats({ params: { id } }),
  }),
}

export const boardSources = {
  ...zoneSources,
  figures: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: ({ api, projectId, from, timeZone: zone }: Facts) =>
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
  /** The entries at each gate, polled every few seconds, because entries per minute also decrease without an event. */
  pace: source({
    scope: 'scans:read',
    load: ({ api, projectId, paceFrom: from }: Facts) =>
      api.scans.stats({ query: { projectId, from, groupBy: 'gate' } }) as Promise<ScanStatsByGate>,
  }),
  scanHours: source({
    scope: 'scans:read',
    isTouchedBy: byScans,
    load: ({ api, projectId, from, timeZone: zone }: Facts) =>
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

export interface PassFacts {
  api: Api
  passId: string
}

export const passSources = {
  pass: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: ({ api, passId: id }: PassFacts) => api.passes.get({ params: { id }, query: { include: 'wallets' } }),
  }),
  balances: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: async ({ api, passId: id }: PassFacts) => {
      const { items } = await api.balances.list({ params: { id } })
      const entries = await Promise.all(
        items.map(async ({ name, currency }) => {
          const latest = await api.balances.listEntries({ params: { id, name }, query: { limit: SHOWN } })
          return latest.items.map((entry) => ({ ...entry, currency }))
        }),
      )
      return { items, entries: entries.flat().toSorted((a, b) => b.id.localeCompare(a.id)) }
    },
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

export const historySources = {
  history: source({
    scope: 'passes:read',
    isTouchedBy: byPasses,
    load: ({ api, passId }: PassFacts) => api.listHistory(passId),
  }),
}

const HOUR_MS = 3_600_000

/** The number of minutes over which entries per minute are averaged. */
export const PACE_MINUTES = 5

export function minuteOf(now: Date): string {
  return new Date(Math.floor(now.getTime() / 60_000) * 60_000).toISOString()
}

export function paceBeginningOf(now: Date): string {
  return new Date(now.getTime() - PACE_MINUTES * 60_000).toISOString()
}

/** Returns the start of the period that the figures cover: 23 hours before the current hour began. */
export function beginningOf(now: Date): string {
  return new Date((Math.floor(now.getTime() / HOUR_MS) - 23) * HOUR_MS).toISOString()
}

export function sumOf<T>(items: readonly T[], numberOf: (item: T) => number): number {
  return items.reduce((sum, item) => sum + numberOf(item), 0)
}

/** Returns the number of passes that a broadcast reached in at least one wallet. */
export function reachedBy({ sent, partial }: { sent: number; partial: number }): number {
  return sent + partial
}
