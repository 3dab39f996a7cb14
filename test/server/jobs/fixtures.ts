import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { createServices, type RunningServices } from '../../../src/server/boot/services.ts'
import type { QueueOptions, WorkerQueues } from '../../../src/server/jobs/queue-options.ts'
import { type JobHandler, startWorker, type Worker, type WorkerOptions } from '../../../src/server/jobs/worker.ts'
import { countEvent, createMetrics } from '../../../src/server/metrics/metrics.ts'
import type { Database } from '../../../src/storage/db/database.ts'
import { type JobKind, jobKinds, type OnDue, queuePlaces, regularQueues } from '../../../src/storage/jobs/job-kinds.ts'
import { createStore } from '../../../src/storage/store.ts'
import type { Wallet } from '../../../src/wallets/wallet.ts'
import { insertTemplate, insertWorkspace, later, openTestStore, start } from '../../storage/fixtures.ts'
import type { TestDialect } from '../../support/databases.ts'
import { webhookServices } from '../../support/webhooks.ts'

export { eventually } from '../../support/eventually.ts'

export interface TestServices extends RunningServices {
  url: string
  database: Database
  workspaceId: string
  version: Awaited<ReturnType<typeof insertTemplate>>
  /** Advances the clock, which is stopped otherwise. */
  advance(seconds: number): void
  /** A worker in this process, woken by commits, stopped after the test. */
  work(options: WorkOptions): Worker
}

interface WorkOptions extends Omit<WorkerOptions, 'handlers' | 'queues'>, Partial<QueueOptions> {
  handlers: Partial<WorkerOptions['handlers']>
}

/** Opens the services that jobs need, on a database with one template. `check` replaces the check of the wallets. */
export async function openServices(dialect: TestDialect, check: Wallet['check'] = async () => undefined) {
  let wake: OnDue = () => undefined
  const { url, database } = await openTestStore(dialect)
  const metrics = createMetrics()
  const store = createStore(database, { onDue: (place) => wake(place), onEvent: (event) => countEvent(metrics, event) })
  const workspaceId = await insertWorkspace(store)
  const version = await insertTemplate(store, workspaceId)
  let now = start
  const services: TestServices = {
    ...createServices({
      store,
      metrics,
      publicUrl: 'https://passes.example',
      linkTtlDays: 400,
      keys: { current: Buffer.alloc(32, 7), previous: [] },
      createWallets: () => ({ all: [{ platform: 'apple', account: 'pass.test', check }], sandboxed: [] }),
      ...webhookServices(),
      clock: () => now,
      measureEventLoop: () => 0,
      log: pino({ level: 'silent' }),
    }),
    url,
    database,
    workspaceId,
    version,
    advance(seconds) {
      now = later(seconds, now)
    },
    work({ batchSize = 100, batches = 1, perSecond, ...options }) {
      const never: JobHandler = async () => {
        throw new Error('No such job was expected')
      }
      const unexpected = Object.fromEntries(jobKinds.map((kind) => [kind, never])) as Record<JobKind, JobHandler>
      const worker = startWorker(services, {
        ...options,
        handlers: { ...unexpected, ...options.handlers },
        queues: Object.fromEntries(
          regularQueues.map((queue) => [
            queue,
            Object.fromEntries(
              queuePlaces
                .filter((place) => place.queue === queue)
                .map(({ priority }) => [priority, { batchSize, batches, perSecond }]),
            ),
          ]),
        ) as WorkerQueues,
      })
      wake = worker.wake
      onTestFinished(() => worker.stop())
      return worker
    },
  }
  onTestFinished(() => services.close())
  return services
}

/** Returns a promise that tests resolve with `open()`. */
export function gate() {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let waiting = 0
  return {
    open,
    /** Returns the number of waiting callers. */
    waiting: () => waiting,
    async pass(): Promise<void> {
      waiting += 1
      await opened
    },
  }
}
