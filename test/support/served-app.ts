import { once } from 'node:events'
import { createServer } from 'node:http'
import { toNodeHandler } from 'h3/node'
import { onTestFinished } from 'vitest'
import { type Client, createClient } from '../../src/client/client.ts'
import type { Api } from './api.ts'

/** Serves the app on a real socket until the test ends, and creates a client for it. `cut` breaks all connections. */
export async function serveApp(api: Api, token: string): Promise<{ url: string; client: Client; cut(): void }> {
  const server = createServer(toNodeHandler(api.app) as Parameters<typeof createServer>[1])
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const client = createClient({ url, token, attempts: 1 })
  onTestFinished(async () => {
    await client.close()
    server.closeAllConnections()
    server.close()
  })
  return { url, client, cut: () => server.closeAllConnections() }
}
