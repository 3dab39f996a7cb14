import { createOutbound, type OutboundOptions } from '../../src/server/webhooks/outbound.ts'

/**
 * Creates the services to send webhooks and to delete old ones. By default, no DNS lookup is made and no host is known.
 */
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
