import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Client, createClient } from '../../src/client/client.ts'
import { freePort } from '../support/ports.ts'
import type { Arena } from './arena.ts'
import type { Order } from './moved-server.ts'

export interface MovedServer {
  url: string
  client: Client
  database: string
  /** Sends a command. Resolves when it is done. */
  tell(order: Order): Promise<void>
  /** The exit code or signal of the process. `undefined` while it runs. */
  exitCode(): number | string | undefined
  stderr(): string
}

/** Starts the built server in a process that accepts commands for faults (moved-server.ts). */
export async function startMovedServer(arena: Arena): Promise<MovedServer> {
  const database = await arena.emptyDatabase()
  const args = [database, 'moved-'.repeat(8), arena.folder(), String(await freePort())]
  const child = fork(join(import.meta.dirname, 'moved-server.ts'), args, {
    execArgv: ['--import', 'tsx'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stderr = ''
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  // Include all of its output.
  const ended = once(child, 'close')
  arena.cleanUp(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const [started] = await Promise.race([once(child, 'message'), ended])
  if (typeof started !== 'object') throw new Error(`The server did not start: ${stderr}`)
  const { url, token } = started as { url: string; token: string }
  const client = createClient({ url, token, attempts: 1 })
  return {
    url,
    client,
    database,
    stderr: () => stderr,
    exitCode: () => child.exitCode ?? child.signalCode ?? undefined,
    async tell(order) {
      const done = once(child, 'message')
      child.send(order)
      if (await Promise.race([done.then(() => false), ended.then(() => true)]))
        throw new Error(`It ended with ${child.exitCode ?? child.signalCode}: ${stderr}`)
    },
  }
}
