import { pino } from 'pino'
import { createServices } from '../../src/server/boot/services.ts'
import type { Services } from '../../src/server/context.ts'
import { createMetrics } from '../../src/server/metrics/metrics.ts'
import { createOutbound } from '../../src/server/webhooks/outbound.ts'
import type { Database } from '../../src/storage/db/database.ts'
import { createStore } from '../../src/storage/store.ts'

/** Creates the services of a server on a database of a benchmark, with wallets that accept everything. */
export function benchServices(database: Database): Services {
  const nothing = async () => undefined
  return createServices({
    store: createStore(database),
    keys: { current: Buffer.alloc(32, 7), previous: [] },
    publicUrl: 'https://passes.example',
    linkTtlDays: 400,
    createWallets: () => ({
      sandboxed: [],
      all: [
        { platform: 'apple', account: 'pass.test', check: nothing },
        { platform: 'google', account: '338', check: nothing },
      ],
    }),
    outbound: createOutbound({ allowInsecure: false }),
    retention: { deliveriesDays: 0, auditDays: 0 },
    stopping: new AbortController().signal,
    clock: () => new Date(),
    log: pino({ level: 'error' }),
    metrics: createMetrics(),
  })
}
