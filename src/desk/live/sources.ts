import type { Broadcast } from '../../core/contract/messages/broadcasts.ts'
import type { ScanStats, ScanStatsByGate, ScanStatsByTime } from '../../core/contract/scans/scans.ts'
import type { Envelope } from '../../core/contract/webhooks/deliveries.ts'
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
  load(facts: F): Promise<T>
  /**
   * Returns whether an event of this type can change the data. Sources without this function are polled every few
   * seconds.
   */
  isTouchedBy?: (type: Envelope['type']) => boolean
  /** Whether to poll the source even while events arrive, because its data also changes without events. */
  isPolled?: true
}

type Load<F, T> = Source<F, T>['load']

/** Creates a source that is loaded every few seconds. */
function polled<F, T>(scope: Scope | null, load: Load<F, T>): Source<F, T> {
  return { scope, load }
}

/** Creates a source that is loaded after each scan. */
function afterScans<F, T>(load: Load<F, T>): Source<F, T> {
  return { scope: 'scans:read', load, isTouchedBy: (type) => type === 'pass.scanned' }
}

/** Creates a source that is loaded after each event. */
function afterEvents<F, T>(scope: Scope, load: Load<F, T>): Source<F, T> {
  return { scope, load, isTouchedBy: () => true }
}

const RECENT = 8

/** The maximum number of broadcasts with progress, and of entries per balance, that the page shows. */
const SHOWN = 5

export const zoneSources = {
  zones: {
    ...afterScans(({ api, projectId }: ZoneFacts) => listAll(api.zones.list, { projectId })),
    // Poll the zones, because adjustments and resets have no event.
    isPolled: true as const,
  },
  curves: polled('scans:read', ({ api, projectId, minute }: ZoneFacts) => loadCurves(api, projectId, minute)),
  /** The entries of each zone, separate from `curves`, which lack the current minute. Polled like `pace`. */
  zonePaces: polled('scans:read', ({ api, projectId, paceFrom }: ZoneFacts) => loadEntries(api, projectId, paceFrom)),
  passTotals: polled('templates:read', ({ api, projectId: id }: ZoneFacts) => api.projects.stats({ params: { id } })),
}

export const boardSources = {
  ...zoneSources,
  figures: afterEvents('passes:read', ({ api, projectId: id, from, timeZone: zone }: Facts) =>
    api.projects.figures({ params: { id }, query: { from, by: 'hour', zone } }),
  ),
  freshness: polled('passes:read', ({ api, projectId }: Facts) => api.wallets.slo({ query: { projectId } })),
  scanTotals: afterScans(
    ({ api, projectId, from }: Facts) => api.scans.stats({ query: { projectId, from } }) as Promise<ScanStats>,
  ),
  scanGates: afterScans(({ api, projectId, from }: Facts) => loadGates(api, projectId, from)),
  /** The entries at each gate, polled every few seconds, because entries per minute also decrease without an event. */
  pace: polled('scans:read', ({ api, projectId, paceFrom }: Facts) => loadGates(api, projectId, paceFrom)),
  scanHours: afterScans(
    ({ api, projectId, from, timeZone: zone }: Facts) =>
      api.scans.stats({ query: { projectId, from, by: 'hour', zone } }) as Promise<ScanStatsByTime>,
  ),
  latestScans: afterScans(({ api, projectId }: Facts) => api.scans.list({ query: { projectId, limit: RECENT } })),
  broadcasts: polled('pass-notifications:read', async ({ api, projectId: id }: Facts) => {
    const { items } = await api.broadcasts.list({ params: { id }, query: { limit: SHOWN } })
    const statsOf = ({ id: broadcastId, status }: Broadcast) =>
      status === 'SCHEDULED' ? null : api.broadcasts.stats({ params: { id, broadcastId } })
    return Promise.all(items.map(async (broadcast) => ({ broadcast, stats: await statsOf(broadcast) })))
  }),
  deliveries: polled('webhooks:read', ({ api }: Facts) =>
    api.deliveries.list({ query: { lastAttempt: 'failed', limit: RECENT } }),
  ),
  identities: polled('templates:read', ({ api }: Facts) => api.identities.list({ query: { limit: 100 } })),
  workspace: polled(null, ({ api }: Facts) => api.workspace.get()),
  doors: polled('scans:read', ({ api, projectId }: Facts) => listAll(api.doors.list, { projectId, revoked: false })),
}

function loadGates(api: Api, projectId: string, from: string): Promise<ScanStatsByGate> {
  return api.scans.stats({ query: { projectId, from, groupBy: 'gate' } }) as Promise<ScanStatsByGate>
}

export interface PassFacts {
  api: Api
  passId: string
}

export const passSources = {
  pass: afterEvents('passes:read', ({ api, passId: id }: PassFacts) =>
    api.passes.get({ params: { id }, query: { include: 'wallets' } }),
  ),
  balances: afterEvents('passes:read', async ({ api, passId: id }: PassFacts) => {
    const { items } = await api.balances.list({ params: { id } })
    const entries = await Promise.all(
      items.map(async ({ name, currency }) => {
        const latest = await api.balances.listEntries({ params: { id, name }, query: { limit: SHOWN } })
        return latest.items.map((entry) => ({ ...entry, currency }))
      }),
    )
    return { items, entries: entries.flat().toSorted((a, b) => b.id.localeCompare(a.id)) }
  }),
  cards: polled('passes:read', async ({ api, passId: id }: PassFacts) => {
    const html = (await api.passes.preview({ params: { id }, query: { format: 'html' } })) as unknown as Uint8Array
    return new TextDecoder().decode(html)
  }),
  redemption: afterEvents('scans:read', ({ api, passId: id }: PassFacts) => api.scans.explain({ params: { id } })),
  scans: afterScans(({ api, passId }: PassFacts) => api.scans.list({ query: { passId, limit: 50 } })),
  notifications: polled('pass-notifications:read', ({ api, passId: id }: PassFacts) =>
    api.notifications.list({ params: { id }, query: { limit: 50 } }),
  ),
  logs: polled('passes:read', ({ api, passId }: PassFacts) => api.wallets.logs({ query: { passId, limit: 50 } })),
}

export const historySources = {
  history: afterEvents('passes:read', ({ api, passId }: PassFacts) => api.listHistory(passId)),
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
