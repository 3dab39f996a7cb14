import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, ConnectionError } from '../../src/client/client.ts'
import type { ScanResponse } from '../../src/core/contract/schemas/scan-shapes.ts'
import type { ServerProcess } from '../e2e/support/server.ts'
import type { Arena } from './arena.ts'

/** The maximum number of responses between two kills. */
const MAX_RESPONSES = 128

type ScanBody = Parameters<Client['scans']['create']>[0]['body']

/**
 * A server that is killed and restarted while scans are sent to it in several lanes, each of which waits for a response
 * before its next scan.
 */
export interface KilledServer {
  /** The client of the latest server. */
  client: Client
  /** Whether the last kill is over, so that the lanes must end. */
  isOver: boolean
  /** Sends a request as soon as the server runs. Resolves to undefined if the response was lost. */
  send<T>(name: string, request: (client: Client) => Promise<T>): Promise<T | undefined>
  scan(body: ScanBody): Promise<ScanResponse | undefined>
}

/** Kills and restarts the server while a number of lanes run. Resolves when all lanes have ended. */
export async function killAmongScans(
  arena: Arena,
  first: ServerProcess,
  { lanes: count, kills }: { lanes: number; kills: number },
  lane: (server: KilledServer) => Promise<void>,
): Promise<KilledServer> {
  const { database, token } = first
  const port = new URL(first.url).port
  let [answered, isUp] = [0, true]
  const killed: KilledServer = {
    client: first.client,
    isOver: false,
    async send(name, request) {
      while (!isUp) await sleep(10)
      try {
        const response = await request(killed.client)
        answered += 1
        return response
      } catch (error) {
        if (!(error instanceof ConnectionError)) arena.check(false, `${name}: ${error}`)
        arena.did('responses lost')
        return undefined
      }
    },
    scan: (body) => killed.send(`scan ${body.externalRef}`, ({ scans }) => scans.create({ body })),
  }
  const lanes = Promise.all(Array.from({ length: count }, () => lane(killed)))
  let server = first
  for (let kill = 0; kill < kills && !arena.isOver(); kill += 1) {
    const enough = answered + arena.random.between(1, MAX_RESPONSES)
    const patience = performance.now() + 3_000
    while (answered < enough && performance.now() < patience) await sleep(1)
    isUp = false
    await server.kill()
    arena.did('kills')
    server = await arena.start({ database, token, port })
    killed.client = server.client
    isUp = true
  }
  killed.isOver = true
  await lanes
  return killed
}
