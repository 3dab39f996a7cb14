import { Gauge } from 'prom-client'
import type { Overview } from '../../storage/operations/overview.ts'
import type { Store } from '../../storage/store.ts'
import { type Certificate, secondsLeft } from '../boot/certificates.ts'
import type { Logger } from '../boot/log.ts'
import type { Metrics } from './metrics.ts'

/** Scrapers that come within so long share one look at the database. */
const CACHE_MS = 5_000

export interface GaugesOptions {
  store: Store
  certificates: Certificate[]
  /** Whether the database was found damaged. */
  isDamaged: () => boolean
  clock: () => Date
  log: Logger
}

/** What is not counted but looked up when somebody asks: the state of the outbox and of endpoints, certificates. */
export function registerGauges(
  { registry }: Metrics,
  { store, certificates, isDamaged, clock, log }: GaugesOptions,
): void {
  const look = createLook(store, clock, log)
  const registers = [registry]
  /** Values as of the moment of the scrape; none at all while the database does not answer. */
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
        const overview = await look()
        this.reset()
        if (!overview) return
        for (const [labels, value] of values(overview)) this.set(labels as Record<Label, string>, value)
      },
    })

  new Gauge({
    name: 'passes_database_up',
    help: 'Whether the database answered the last look at it.',
    registers,
    async collect() {
      this.set((await look()) ? 1 : 0)
    },
  })
  new Gauge({
    name: 'passes_database_damaged',
    help: 'Whether SQLite found its file damaged: nothing is written.',
    registers,
    collect() {
      this.set(isDamaged() ? 1 : 0)
    },
  })
  // `queue` is what `queue` was called before: watchers that know it go on for a release.
  gauge('passes_jobs', 'Jobs of the outbox that were not set aside.', ['queue', 'lane', 'state'], ({ queues }) =>
    queues.flatMap(({ queue, due, later, running }): [{ queue: string; lane: string; state: string }, number][] => [
      [{ queue, lane: queue, state: 'due' }, due],
      [{ queue, lane: queue, state: 'later' }, later],
      [{ queue, lane: queue, state: 'running' }, running],
    ]),
  )
  gauge(
    'passes_jobs_oldest_due_age_seconds',
    'How long the oldest due job waits.',
    ['queue', 'lane'],
    ({ queues, at }) =>
      queues.map(({ queue, oldestDueAt }) => [
        { queue, lane: queue },
        oldestDueAt ? secondsBetween(oldestDueAt, at) : 0,
      ]),
  )
  gauge('passes_jobs_set_aside', 'Jobs that gave up and wait for an operator.', ['kind'], ({ setAside }) =>
    setAside.map(({ kind, count }) => [{ kind }, count]),
  )
  gauge('passes_jobs_quarantined', 'Jobs under which workers stopped.', ['kind'], ({ quarantined }) =>
    quarantined.map(({ kind, count }) => [{ kind }, count]),
  )
  gauge('passes_webhooks', 'Endpoints by how they fare.', ['state'], ({ webhooks }) =>
    Object.entries(webhooks).map(([state, count]) => [{ state }, count]),
  )
  gauge('passes_webhook_deliveries_pending', 'Deliveries that wait for an attempt.', ['state'], (overview) => [
    [{ state: 'due' }, overview.deliveries.due],
    [{ state: 'later' }, overview.deliveries.later],
  ])
  gauge('passes_refused', 'Versions, classes and passes that a platform refuses for good.', ['kind'], ({ refused }) =>
    Object.entries(refused).map(([kind, count]) => [{ kind }, count]),
  )
  gauge('passes_usage', 'What workspaces have of what is limited, all together.', ['limit'], ({ usage }) =>
    usage.map(({ limit, total }) => [{ limit }, total]),
  )
  gauge('passes_workspaces_near_limit', 'Workspaces that use 80 % of a limit or more.', ['limit'], ({ usage }) =>
    usage.map(({ limit, near }) => [{ limit }, near]),
  )
  new Gauge({
    name: 'passes_certificate_remaining_seconds',
    help: 'Until the certificate expires; negative when it has.',
    labelNames: ['certificate'],
    registers,
    collect() {
      for (const certificate of certificates) {
        this.set({ certificate: certificate.id }, secondsLeft(certificate, clock()))
      }
    },
  })
}

function createLook(store: Store, clock: () => Date, log: Logger): () => Promise<Overview | undefined> {
  let latest: Promise<Overview | undefined> | undefined
  let until = 0
  return () => {
    const now = performance.now()
    if (latest && now < until) return latest
    until = now + CACHE_MS
    latest = store.overviews.read(clock()).catch((error: unknown) => {
      log.warn({ err: error }, 'metrics could not look at the database')
      return undefined
    })
    return latest
  }
}

function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, (to.getTime() - from.getTime()) / 1000)
}
