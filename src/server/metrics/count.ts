import type { ApiError } from '../../core/errors.ts'
import { limitNames } from '../../core/rules/pass/limits.ts'
import type { StoreEvent } from '../../storage/operations/store-events.ts'
import type { ProviderCall } from '../../wallets/wallet.ts'
import type { Metrics } from './metrics.ts'

/** What a delivery's state after an attempt says of the attempt. */
const attemptOutcomes = { SUCCESS: 'delivered', PENDING: 'retrying', FAILED: 'gave_up' } as const

/** Counts what was committed. */
export function countEvent(metrics: Metrics, event: StoreEvent): void {
  switch (event.what) {
    case 'runs':
      metrics.jobRuns.inc({ kind: event.kind, outcome: event.outcome }, event.count)
      break
    case 'event':
      metrics.events.inc({ type: event.type })
      break
    case 'scan':
      metrics.scans.inc({ result: event.result, reason: event.reason ?? '', verified: event.verified })
      break
    case 'notification':
      metrics.notifications.inc({ platform: event.platform, status: event.status })
      break
    case 'broadcast':
      metrics.broadcasts.inc()
      break
    case 'attempt':
      metrics.webhookAttempts.inc({ outcome: attemptOutcomes[event.status] })
      break
  }
}

export function countProviderCall(metrics: Metrics, { provider, outcomes, seconds }: ProviderCall): void {
  for (const outcome of outcomes) metrics.providerCalls.inc({ provider, outcome })
  metrics.providerSeconds.observe({ provider }, seconds)
}

/** A refusal because the workspace is at a limit; any other problem is not counted. */
export function countRefusal({ limitRefusals }: Metrics, { details }: ApiError): void {
  const limit = limitNames.find((name) => name === details.limit)
  if (limit) limitRefusals.inc({ limit })
}
