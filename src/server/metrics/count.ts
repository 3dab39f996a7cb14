import type { Problem } from '../../core/errors.ts'
import { limitNames } from '../../core/rules/pass/limits.ts'
import type { News } from '../../storage/operations/news.ts'
import type { ProviderCall } from '../../wallets/wallet.ts'
import type { Metrics } from './metrics.ts'

/** What a delivery's state after an attempt says of the attempt. */
const attemptOutcomes = { SUCCESS: 'delivered', PENDING: 'retrying', FAILED: 'gave_up' } as const

/** Counts what was committed. */
export function countNews(metrics: Metrics, news: News): void {
  switch (news.what) {
    case 'runs':
      metrics.jobRuns.inc({ kind: news.kind, outcome: news.outcome }, news.count)
      break
    case 'event':
      metrics.events.inc({ type: news.type })
      break
    case 'scan':
      metrics.scans.inc({ result: news.result, reason: news.reason ?? '', verified: news.verified })
      break
    case 'notification':
      metrics.notifications.inc({ platform: news.platform, status: news.status })
      break
    case 'broadcast':
      metrics.broadcasts.inc()
      break
    case 'attempt':
      metrics.webhookAttempts.inc({ outcome: attemptOutcomes[news.status] })
      break
  }
}

export function countProviderCall(metrics: Metrics, { provider, outcomes, seconds }: ProviderCall): void {
  for (const outcome of outcomes) metrics.providerCalls.inc({ provider, outcome })
  metrics.providerSeconds.observe({ provider }, seconds)
}

/** A refusal because the workspace is at a limit; any other problem is not counted. */
export function countRefusal({ limitRefusals }: Metrics, { details }: Problem): void {
  const limit = limitNames.find((name) => name === details.limit)
  if (limit) limitRefusals.inc({ limit })
}
