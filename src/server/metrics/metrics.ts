import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { ApiError } from '../../core/errors.ts'
import { limitNames } from '../../core/rules/pass/workspace-limits.ts'
import type { StoreEvent } from '../../storage/operations/store-events.ts'
import type { DroppedRegistration } from '../../storage/passes/registrations.ts'
import { SERVER_IDENTITY } from '../../storage/workspaces/identities-repository.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import type { ProviderCall } from '../../wallets/wallet.ts'
import { createLineLimit } from '../line-limit.ts'
import type { Logger } from '../log.ts'

/**
 * The metrics of this process, in a separate registry. docs/metrics.md describes each metric. Labels have few possible
 * values, so they never contain a workspace, webhook, pass, path, or other data of customers.
 */
export type Metrics = ReturnType<typeof createMetrics>

/** The buckets of request durations, in seconds: from a cached read to the longest time that clients wait. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The buckets of job durations, in seconds: from a single row to a batch for a webhook or a slow platform. */
const WORK_SECONDS = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 15, 30]

export function createMetrics() {
  const registry = new Registry()
  const registers = [registry]
  const counter = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Counter({ name, help, labelNames, registers })
  const gauge = <Label extends string = never>(name: string, help: string, labelNames: Label[] = []) =>
    new Gauge({ name, help, labelNames, registers })
  const seconds = <Label extends string = never>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: Label[] = [],
  ) => new Histogram({ name, help, labelNames, buckets, registers })

  const limitRefusals = counter('passes_limit_refusals_total', 'Requests rejected by a limit of the workspace.', [
    'limit',
  ])
  // Start each series with 0. Otherwise, an alert on an increase would miss the first increase.
  for (const limit of limitNames) limitRefusals.inc({ limit }, 0)
  const deviceLogs = counter('passes_device_logs_total', 'Messages that devices sent to the log endpoint.', ['about'])
  for (const about of ['pass', 'unknown']) deviceLogs.inc({ about }, 0)

  return {
    registry,
    buildInfo: gauge('passes_build_info', 'Always 1. The labels contain the versions and the role.', [
      'version',
      'node',
      'role',
    ]),

    requests: counter('passes_http_requests_total', 'Completed requests.', ['method', 'route', 'status']),
    requestSeconds: seconds('passes_http_request_duration_seconds', 'Time to the response.', REQUEST_SECONDS, [
      'method',
      'route',
    ]),
    rateLimited: counter('passes_rate_limited_requests_total', 'Requests rejected by a rate limit.', ['limit']),

    limitRefusals,
    events: counter('passes_events_total', 'Committed events of passes.', ['type']),
    scans: counter('passes_scans_total', 'Scans recorded in the ledger.', ['result', 'reason', 'verified']),
    notifications: counter('passes_notifications_total', 'Notifications whose delivery ended.', ['platform', 'status']),
    deviceLogs,
    droppedRegistrations: counter(
      'passes_registrations_dropped_total',
      'Device registrations removed because Apple reported their push token as invalid.',
    ),
    nudges: counter('passes_nudges_total', 'Devices that got another push because they did not fetch a change.'),
    movedPasses: counter('passes_moved_passes_total', 'Passes whose phones are moved to another address.'),
    broadcasts: counter('passes_broadcasts_dispatched_total', 'Broadcasts whose fan-out is complete.'),
    upgradedPasses: counter('passes_upgraded_passes_total', 'Passes that upgrades moved to another template version.'),

    jobRuns: counter('passes_job_runs_total', 'Runs of jobs that ended.', ['kind', 'outcome']),
    jobSeconds: seconds('passes_job_batch_duration_seconds', 'Duration of a batch of jobs.', WORK_SECONDS, ['kind']),

    webhookAttempts: counter('passes_webhook_attempts_total', 'Attempts to deliver an event.', ['outcome']),
    webhookSeconds: seconds('passes_webhook_attempt_duration_seconds', 'Duration of a webhook attempt.', WORK_SECONDS),

    providerCalls: counter('passes_provider_calls_total', 'Calls to platforms by outcome.', [
      'provider',
      'outcome',
      'identity',
    ]),
    providerSeconds: seconds('passes_provider_call_duration_seconds', 'Duration of a platform call.', WORK_SECONDS, [
      'provider',
      'identity',
    ]),
    identityPaused: gauge(
      'passes_identity_paused',
      '1 while updates for the identity wait because its platform does not respond, else 0.',
      ['provider', 'identity'],
    ),
    mailDown: gauge('passes_mail_down', '1 while the SMTP server does not accept email, else 0.'),
  }
}

const attemptOutcomes = { SUCCESS: 'delivered', PENDING: 'retrying', FAILED: 'gave_up' } as const

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
    case 'upgraded':
      metrics.upgradedPasses.inc(event.passes)
      break
    case 'attempt':
      metrics.webhookAttempts.inc({ outcome: attemptOutcomes[event.status] })
      break
    case 'deliveries':
      break
    default:
      event satisfies never
  }
}

export function countProviderCall(metrics: Metrics, call: ProviderCall): void {
  const { provider, identity = SERVER_IDENTITY, outcomes, seconds } = call
  for (const outcome of outcomes) metrics.providerCalls.inc({ provider, outcome, identity })
  metrics.providerSeconds.observe({ provider, identity }, seconds)
}

/** Counts a request that a limit of its workspace or a rate limit rejected. */
export function countRejection({ limitRefusals, rateLimited }: Metrics, { code, details, forLog }: ApiError): void {
  const limit = limitNames.find((name) => name === details.limit)
  if (limit) limitRefusals.inc({ limit })
  if (code !== 'RATE_LIMITED' || forLog.limit === undefined) return
  rateLimited.inc({ limit: ownRateLimits.find((name) => name === forLog.limit) ?? 'address' })
}

/** The rate limits that are counted by name. The other rate limits all limit addresses, and are counted together. */
const ownRateLimits = ['token', 'join', 'removal']

export type DroppedRegistrations = ReturnType<typeof createDroppedRegistrations>

/**
 * Counts dropped registrations, and logs a limited number of them, because any holder can register invalid tokens. Does
 * not log tokens or device IDs.
 */
export function createDroppedRegistrations({ log, metrics }: { log: Logger; metrics: Metrics }) {
  const limit = createLineLimit((leftOut, workspaces) =>
    log.warn({ leftOut, workspaces }, `${leftOut} more device registrations were dropped`),
  )
  return {
    note(dropped: DroppedRegistration[], results: Iterable<Pick<PushResult, 'pushToken' | 'reason'>>): void {
      if (dropped.length === 0) return
      metrics.droppedRegistrations.inc(dropped.length)
      const reasons = new Map([...results].map(({ pushToken, reason }) => [pushToken, reason]))
      for (const { workspaceId, passId, pushToken } of dropped) {
        if (!limit.admits(workspaceId)) continue
        log.warn({ workspaceId, passId, reason: reasons.get(pushToken) }, 'a device registration was dropped')
      }
    },
  }
}
