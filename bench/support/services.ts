import { pino } from 'pino'
import type { Services } from '../../src/server/context.ts'
import { createDefinitions } from '../../src/server/definitions.ts'
import { createImages } from '../../src/server/images/images.ts'
import { createIssuing } from '../../src/server/issuing.ts'
import { createLinks } from '../../src/server/links.ts'
import { createMetrics } from '../../src/server/metrics/metrics.ts'
import { createOutbound } from '../../src/server/outbound.ts'
import { createWebhookSecrets } from '../../src/server/webhook-secrets.ts'
import type { Database } from '../../src/storage/database.ts'
import { createStore } from '../../src/storage/store.ts'

/** What the parts of a server work with, on a database of a benchmark, without wallets. */
export function benchServices(database: Database): Services {
  const store = createStore(database)
  const wallets = { all: [] }
  const log = pino({ level: 'error' })
  const keys = { current: Buffer.alloc(32, 7), previous: [] }
  return {
    store,
    wallets,
    links: createLinks({ keys, publicUrl: 'https://passes.example', platforms: ['apple', 'google'], ttlDays: 400 }),
    issuing: createIssuing(store, wallets),
    definitions: createDefinitions(store),
    images: createImages(store, { log }),
    webhookSecrets: createWebhookSecrets(keys),
    outbound: createOutbound({ allowInsecure: false }),
    stopping: new AbortController().signal,
    retention: { deliveriesDays: 0, auditDays: 0 },
    clock: () => new Date(),
    log,
    metrics: createMetrics(),
  }
}
