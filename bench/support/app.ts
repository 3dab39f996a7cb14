import { createLimits } from '../../src/server/admission/rate-limit.ts'
import { createApp } from '../../src/server/boot/app.ts'
import type { Services } from '../../src/server/context.ts'
import { createToken } from '../../src/server/create-token.ts'
import { createCursors } from '../../src/server/http/cursors.ts'
import { type Database, openDatabase } from '../../src/storage/db/database.ts'
import { migrate } from '../../src/storage/db/migrate.ts'
import { benchServices } from './services.ts'

export interface BenchApp {
  app: ReturnType<typeof createApp>
  database: Database
  services: Services
  workspaceId: string
  token: string
  /** Returns the parsed body of a GET. Throws for any status except 200. */
  get<T>(path: string): Promise<T>
  /** Stops the background work on the database, and closes the database. */
  close(): Promise<void>
}

/** Opens the HTTP app in this process, without wallets, rate limit, or background work, on a separate database. */
export async function openApp(databaseUrl: string): Promise<BenchApp> {
  const database = openDatabase(databaseUrl)
  await migrate(database)
  const services = benchServices(database)
  const { store } = services
  const app = createApp({
    services,
    readiness: async () => ({}),
    cursors: createCursors({ current: Buffer.alloc(32, 7), previous: [] }),
    limits: createLimits({ perSecond: 0, burst: 0 }),
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
    services,
    workspaceId,
    token,
    async get<T>(path: string) {
      const headers = { authorization: `Bearer ${token}` }
      const response = await app.fetch(new Request(`http://bench${path}`, { headers }))
      if (response.status !== 200) throw new Error(`GET ${path} returned ${response.status}: ${await response.text()}`)
      return (await response.json()) as T
    },
    async close() {
      await services.identities.close()
      await database.close()
    },
  }
}
