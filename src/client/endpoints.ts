import type { Contract } from '../core/contract/contract.ts'
import type { Route } from '../core/route.ts'

/** The properties of an endpoint that a client needs to send requests: those of its route, without the schemas. */
export interface Endpoint
  extends Pick<Route, 'method' | 'path' | 'idempotent' | 'compressed' | 'files' | 'eventStream' | 'errorsWithoutCode'> {
  /** Set if the body is a file instead of JSON. */
  rawBody?: true
}

/**
 * A copy of the contract without schemas, since loading the schemas takes several times as long as a small request. The
 * type requires every endpoint, and a test compares the rest with the contract.
 */
export const endpoints: { readonly [R in keyof Contract]: { readonly [O in keyof Contract[R]]: Endpoint } } = {
  projects: {
    list: { method: 'GET', path: '/v1/projects' },
    create: { method: 'POST', path: '/v1/projects' },
    get: { method: 'GET', path: '/v1/projects/{id}' },
    update: { method: 'PATCH', path: '/v1/projects/{id}' },
    delete: { method: 'DELETE', path: '/v1/projects/{id}' },
    stats: { method: 'GET', path: '/v1/projects/{id}/stats' },
    figures: { method: 'GET', path: '/v1/projects/{id}/figures' },
  },
  templates: {
    list: { method: 'GET', path: '/v1/templates' },
    create: { method: 'POST', path: '/v1/templates' },
    get: { method: 'GET', path: '/v1/templates/{id}' },
    update: { method: 'PATCH', path: '/v1/templates/{id}' },
    delete: { method: 'DELETE', path: '/v1/templates/{id}' },
    createVersion: { method: 'POST', path: '/v1/templates/{id}/versions' },
    variablesSchema: { method: 'GET', path: '/v1/templates/{id}/published-version/variables-schema' },
  },
  templateVersions: {
    list: { method: 'GET', path: '/v1/template-versions' },
    get: { method: 'GET', path: '/v1/template-versions/{id}' },
    update: { method: 'PATCH', path: '/v1/template-versions/{id}' },
    delete: { method: 'DELETE', path: '/v1/template-versions/{id}' },
    publish: { method: 'POST', path: '/v1/template-versions/{id}/publish' },
    preview: { method: 'GET', path: '/v1/template-versions/{id}/preview', files: ['text/html'] },
  },
  images: {
    create: { method: 'POST', path: '/v1/images', rawBody: true },
  },
  passes: {
    create: { method: 'POST', path: '/v1/passes', idempotent: true },
    createBatch: { method: 'POST', path: '/v1/passes/batch', idempotent: true },
    import: { method: 'POST', path: '/v1/passes/import', idempotent: true },
    get: { method: 'GET', path: '/v1/passes/{id}' },
    list: { method: 'GET', path: '/v1/passes' },
    update: { method: 'PATCH', path: '/v1/passes/{id}' },
    rotateCode: { method: 'POST', path: '/v1/passes/{id}/rotate-code' },
    transfer: { method: 'POST', path: '/v1/passes/{id}/transfer' },
    void: { method: 'POST', path: '/v1/passes/{id}/void' },
    revokeLinks: { method: 'POST', path: '/v1/passes/{id}/links/revoke' },
    wallets: { method: 'GET', path: '/v1/passes/{id}/wallets' },
    preview: { method: 'GET', path: '/v1/passes/{id}/preview', files: ['application/vnd.apple.pkpass', 'text/html'] },
  },
  notifications: {
    create: { method: 'POST', path: '/v1/passes/{id}/notifications' },
    list: { method: 'GET', path: '/v1/passes/{id}/notifications' },
    get: { method: 'GET', path: '/v1/passes/{id}/notifications/{notificationId}' },
    cancel: { method: 'DELETE', path: '/v1/passes/{id}/notifications/{notificationId}' },
  },
  broadcasts: {
    create: { method: 'POST', path: '/v1/projects/{id}/broadcasts' },
    list: { method: 'GET', path: '/v1/projects/{id}/broadcasts' },
    get: { method: 'GET', path: '/v1/projects/{id}/broadcasts/{broadcastId}' },
    stats: { method: 'GET', path: '/v1/projects/{id}/broadcasts/{broadcastId}/stats' },
    cancel: { method: 'DELETE', path: '/v1/projects/{id}/broadcasts/{broadcastId}' },
  },
  webhooks: {
    list: { method: 'GET', path: '/v1/webhooks' },
    create: { method: 'POST', path: '/v1/webhooks' },
    get: { method: 'GET', path: '/v1/webhooks/{id}' },
    update: { method: 'PATCH', path: '/v1/webhooks/{id}' },
    delete: { method: 'DELETE', path: '/v1/webhooks/{id}' },
    enable: { method: 'POST', path: '/v1/webhooks/{id}/enable', idempotent: true },
    disable: { method: 'POST', path: '/v1/webhooks/{id}/disable', idempotent: true },
    test: { method: 'POST', path: '/v1/webhooks/{id}/test' },
    rotateSecret: { method: 'POST', path: '/v1/webhooks/{id}/rotate-secret' },
    listDeliveries: { method: 'GET', path: '/v1/webhooks/{id}/deliveries' },
  },
  deliveries: {
    list: { method: 'GET', path: '/v1/webhooks/deliveries' },
    get: { method: 'GET', path: '/v1/webhooks/deliveries/{id}' },
    redeliver: { method: 'POST', path: '/v1/webhooks/deliveries/{id}/redeliver' },
  },
  events: {
    follow: { method: 'GET', path: '/v1/events', eventStream: true },
  },
  scans: {
    create: { method: 'POST', path: '/v1/scans', errorsWithoutCode: true },
    list: { method: 'GET', path: '/v1/scans' },
    stats: { method: 'GET', path: '/v1/scans/stats' },
    get: { method: 'GET', path: '/v1/scans/{id}' },
    reverse: { method: 'POST', path: '/v1/scans/{id}/reverse' },
    replay: { method: 'POST', path: '/v1/scans/replay' },
    explain: { method: 'GET', path: '/v1/passes/{id}/redemption' },
  },
  scanner: {
    snapshot: { method: 'GET', path: '/v1/scanner/snapshot', compressed: true },
    report: { method: 'POST', path: '/v1/scans/offline', idempotent: true },
  },
  doors: {
    invite: { method: 'POST', path: '/v1/doors/invitations' },
    endInvitation: { method: 'DELETE', path: '/v1/doors/invitations/{id}' },
    claim: { method: 'POST', path: '/v1/doors/claim' },
    list: { method: 'GET', path: '/v1/doors' },
    update: { method: 'PATCH', path: '/v1/doors/{id}' },
    revoke: { method: 'DELETE', path: '/v1/doors/{id}' },
  },
  identities: {
    list: { method: 'GET', path: '/v1/identities' },
  },
  wallets: {
    list: { method: 'GET', path: '/v1/wallets' },
    slo: { method: 'GET', path: '/v1/wallets/slo' },
    logs: { method: 'GET', path: '/v1/wallets/logs' },
    nudge: { method: 'POST', path: '/v1/wallets/nudge' },
  },
  tokens: {
    current: { method: 'GET', path: '/v1/tokens/current' },
  },
  workspace: {
    get: { method: 'GET', path: '/v1/workspace' },
  },
}

/** Returns the path of a request with its parameters and its query. */
export function pathOf(
  { path: pattern }: Pick<Endpoint, 'path'>,
  { params, query: given = {} }: { params?: Record<string, unknown>; query?: Record<string, unknown> },
): string {
  const path = pattern.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params?.[name])))
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) query.append(name, String(item))
    }
  }
  return query.size > 0 ? `${path}?${query}` : path
}
