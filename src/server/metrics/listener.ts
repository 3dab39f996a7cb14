import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client'
import type { Overview } from '../../storage/operations/overview.ts'
import type { Store } from '../../storage/store.ts'
import { SERVER_IDENTITY } from '../../storage/workspaces/identities-repository.ts'
import { type Certificate, secondsLeft } from '../certificates.ts'
import type { Config } from '../config.ts'
import type { JobServices, Services } from '../context.ts'
import { ListenError } from '../listen-error.ts'
import type { Logger } from '../log.ts'
import type { DatabaseWatch } from './database-watch.ts'
import type { Metrics } from './metrics.ts'

export interface StartMetricsOptions {
  config: Pick<Config, 'metrics' | 'role'>
  certificates: () => Certificate[]
  version: string
  isDamaged: () => boolean
  watch: Pick<DatabaseWatch, 'isWritable' | 'clockSkewSeconds'>
}

/** Serves metrics if the configuration enables them. @throws ListenError */
export async function startMetrics(
  { store, metrics, clock, log }: JobServices & Pick<Services, 'metrics'>,
  { config, certificates, version, isDamaged, watch }: StartMetricsOptions,
) {
  if (!config.metrics) return undefined
  const { host, port } = config.metrics
  metrics.buildInfo.set({ version, node: process.versions.node, role: config.role }, 1)
  registerGauges(metrics, { store, certificates, isDamaged, watch, clock, log })
  try {
    return await startMetricsListener({ host, port }, metrics.registry, log)
  } catch (error) {
    throw new ListenError({ host, port }, error, '--metrics-port or --metrics-host')
  }
}

const PATH = '/metrics'

const SLOW_SOCKETS = { headersTimeout: 10_000, connectionsCheckingInterval: 500 }

/**
 * Starts a separate listener, so that an operator can protect metrics differently from the API. A worker has no other
 * listener.
 */
async function startMetricsListener({ host, port }: NonNullable<Config['metrics']>, registry: Registry, log: Logger) {
  collectDefaultMetrics({ register: registry })
  const server = createServer(SLOW_SOCKETS, async (request, response) => {
    if (request.url?.split('?')[0] !== PATH) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`Metrics are at ${PATH}.\n`)
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    try {
      const text = await registry.metrics()
      response.writeHead(200, { 'content-type': registry.contentType }).end(text)
    } catch (error) {
      log.error({ err: error }, 'could not read the metrics')
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${name}:${address.port}${PATH}`,
    async close(): Promise<void> {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** The time for which all scrapes share one read of the database. */
const CACHE_MS = 5_000

type GaugesOptions = JobServices & Pick<StartMetricsOptions, 'certificates' | 'isDamaged' | 'watch'>

function registerGauges({ registry }: Metrics, options: GaugesOptions): void {
  const { store, certificates, isDamaged, watch, clock, log } = options
  const readOverview = createOverviewReader(store, clock, log)
  const registers = [registry]
  /** Creates a gauge that reads its values at each scrape, and has no values while the database does not respond. */
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    values: (overview: Overview) => [Partial<Record<Label, string>>, number][],
  ) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        const overview = await readOverview()
        this.reset()
        if (!overview) return
        for (const [labels, value] of values(overview)) this.set(labels as Record<Label, string>, value)
      },
    })

  const single = (name: string, help: string, value: () => number | Promise<number>) =>
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await value())
      },
    })
  single('passes_database_up', '1 if the database responded to the last check, else 0.', async () =>
    (await readOverview()) ? 1 : 0,
  )
  single('passes_database_damaged', '1 if SQLite found its file damaged, so that writes are rejected, else 0.', () =>
    isDamaged() ? 1 : 0,
  )
  single('passes_database_writable', '1 if the last write was committed, else 0.', () => (watch.isWritable() ? 1 : 0))
  single(
    'passes_clock_skew_seconds',
    'Seconds by which the clock of this server is ahead of PostgreSQL.',
    () => watch.clockSkewSeconds() ?? 0,
  )
  gauge('passes_jobs', 'Jobs of the outbox that are not discarded.', ['queue', 'priority', 'state'], ({ queues }) =>
    queues.flatMap(({ queue, priority, due, later, running }) =>
      Object.entries({ due, later, running }).map(([state, jobs]): [object, number] => [
        { queue, priority, state },
        jobs,
      ]),
    ),
  )
  gauge(
    'passes_jobs_oldest_due_age_seconds',
    'Waiting time of the oldest due job; 0 if none is due.',
    ['queue', 'priority'],
    ({ queues, at }) =>
      queues.map(({ queue, priority, oldestDueAt }) => [
        { queue, priority },
        oldestDueAt ? secondsBetween(oldestDueAt, at) : 0,
      ]),
  )
  for (const [name, help] of [
    ['passes_jobs_discarded', 'Discarded jobs, which wait for an operator.'],
    ['passes_jobs_set_aside', 'Deprecated: use passes_jobs_discarded.'],
  ] as const)
    gauge(name, help, ['kind'], ({ discarded }) => discarded.map(({ kind, count }) => [{ kind }, count]))
  gauge(
    'passes_jobs_quarantined',
    'Jobs during which a worker stopped or hung four times.',
    ['kind'],
    ({ quarantined }) => quarantined.map(({ kind, count }) => [{ kind }, count]),
  )
  gauge('passes_webhooks', 'Webhooks by state.', ['state'], ({ webhooks }) =>
    Object.entries(webhooks).map(([state, count]) => [{ state }, count]),
  )
  gauge('passes_webhook_deliveries_pending', 'Deliveries that wait for an attempt.', ['state'], (overview) => [
    [{ state: 'due' }, overview.deliveries.due],
    [{ state: 'later' }, overview.deliveries.later],
  ])
  gauge(
    'passes_refused',
    'Template versions, shared classes, and passes that a platform rejects permanently.',
    ['kind'],
    ({ rejected }) => Object.entries(rejected).map(([kind, count]) => [{ kind }, count]),
  )
  gauge('passes_doors_online', 'Active doors that were seen within the last 5 minutes.', [], ({ doors }) => [
    [{}, doors.online],
  ])
  gauge(
    'passes_doors_pending_scans',
    'Offline scans that are not uploaded yet, by the last report of each door.',
    [],
    ({ doors }) => [[{}, doors.pendingScans]],
  )
  gauge('passes_usage', 'The usage of limited resources by all workspaces.', ['limit'], ({ usage }) =>
    usage.map(({ limit, total }) => [{ limit }, total]),
  )
  gauge('passes_workspaces_near_limit', 'Workspaces that use at least 80 % of a limit.', ['limit'], ({ usage }) =>
    usage.map(({ limit, near }) => [{ limit }, near]),
  )
  new Gauge({
    name: 'passes_certificate_remaining_seconds',
    help: 'Seconds until the certificate expires; negative afterwards.',
    labelNames: ['certificate', 'identity'],
    registers,
    collect() {
      for (const certificate of certificates()) {
        const { id, identity = SERVER_IDENTITY } = certificate
        this.set({ certificate: id, identity }, secondsLeft(certificate, clock()))
      }
    },
  })
}

function createOverviewReader(store: Store, clock: () => Date, log: Logger): () => Promise<Overview | undefined> {
  let latest: Promise<Overview | undefined> | undefined
  let until = 0
  return () => {
    const now = performance.now()
    if (latest && now < until) return latest
    until = now + CACHE_MS
    latest = store.overviews.read(clock()).catch((error: unknown) => {
      log.warn({ err: error }, 'metrics could not read the database')
      return undefined
    })
    return latest
  }
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000)
}
