import { createOutbound, type OutboundOptions } from '../../src/server/webhooks/outbound.ts'

/** What the server needs to send webhooks and to forget them. By default it asks no name server and knows no host. */
export function webhookServices(options: Partial<OutboundOptions> = {}) {
  return {
    outbound: createOutbound({ allowInsecure: false, resolve: noSuchHost, ...options }),
    stopping: new AbortController().signal,
    retention: { deliveriesDays: 30, auditDays: 365 },
  }
}

async function noSuchHost(): Promise<never> {
  throw Object.assign(new Error('no such host'), { code: 'ENOTFOUND' })
}
