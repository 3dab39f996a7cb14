import { pino } from 'pino'
import { createApp } from '../../src/server/app.ts'
import { createDefinitions } from '../../src/server/definitions.ts'
import { createIssuing } from '../../src/server/issuing.ts'
import { createLinks } from '../../src/server/links.ts'
import { createOutbound } from '../../src/server/outbound.ts'
import { createToken } from '../../src/server/tokens.ts'
import { createWebhookSecrets } from '../../src/server/webhook-secrets.ts'
import { type Database, openDatabase } from '../../src/storage/database.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { createStore } from '../../src/storage/store.ts'

export interface BenchApp {
  app: ReturnType<typeof createApp>
  database: Database
  workspaceId: string
  token: string
  /** The body of a GET, parsed; throws on anything but 200. */
  get<T>(path: string): Promise<T>
}

/** The HTTP app in this process without wallets, a rate limit or background work, on a database of its own. */
export async function openApp(databaseUrl: string): Promise<BenchApp> {
  const database = openDatabase(databaseUrl)
  await migrate(database)
  const store = createStore(database)
  const wallets = { all: [] }
  const keys = { current: Buffer.alloc(32, 7), previous: [] }
  const services = {
    store,
    wallets,
    links: createLinks({ keys, publicUrl: 'https://passes.example', platforms: ['apple', 'google'], ttlDays: 400 }),
    issuing: createIssuing(store, wallets),
    webhookSecrets: createWebhookSecrets(keys),
    outbound: createOutbound({ allowInsecure: false }),
    stopping: new AbortController().signal,
    definitions: createDefinitions(store),
    clock: () => new Date(),
    log: pino({ level: 'silent' }),
  }
  const app = createApp({
    services,
    readiness: async () => ({}),
    rateLimit: { perSecond: 0, burst: 0 },
    trustedProxies: 0,
  })
  const { workspaceId, token } = await store.transaction(async (tx) => {
    const workspace = await tx.workspaces.insert('bench', new Date())
    const { text } = await createToken(tx, workspace!.id, { name: 'bench', role: 'owner' }, new Date())
    return { workspaceId: workspace!.id, token: text }
  })
  return {
    app,
    database,
    workspaceId,
    token,
    async get<T>(path: string) {
      const headers = { authorization: `Bearer ${token}` }
      const response = await app.fetch(new Request(`http://bench${path}`, { headers }))
      if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`)
      return (await response.json()) as T
    },
  }
}
