import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { type Client, createClient } from '../../src/client/client.ts'

const program = new URL('../../bin/run.js', import.meta.url).pathname

export interface BenchServer {
  url: string
  token: string
  client: Client
  stop(): Promise<void>
}

/** The built program as a process of its own on an empty database, without a rate limit. */
export async function startServer(database: string, args: string[] = []): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'passes-bench-'))
  const child = execa('node', [program, 'serve', '--json', ...args], {
    cwd: folder,
    env: {
      ...{ PASSES_PORT: '0', PASSES_RATE_LIMIT: '0', PASSES_LOG_LEVEL: 'error', PASSES_DATABASE_URL: database },
      PASSES_DRAIN_SECONDS: '0',
      ...(database.startsWith('postgres') && { PASSES_SERVER_KEY: 'ab'.repeat(32) }),
    },
    stderr: 'inherit',
    buffer: false,
    reject: false,
  })
  let text = ''
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += chunk
    if (text.endsWith('}\n')) break
  }
  const { url, token } = JSON.parse(text) as { url: string; token: string }
  const client = createClient({ url, token, attempts: 1 })
  return {
    url,
    token,
    client,
    async stop() {
      await client.close()
      child.kill('SIGTERM')
      await child
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
