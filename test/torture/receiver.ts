import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Envelope } from '../../src/core/contract/webhooks/deliveries.ts'
import type { Arena } from './arena.ts'

/** A delivery, which can arrive several times. */
export interface Counters {
  type: Envelope['type']
  /** The pass of a lifecycle event, or the scan of a scan event. */
  subject: string
  times: number
  /** Whether all requests had the same bytes. */
  isSame: boolean
}

export interface TallyReceiver {
  url: string
  /** The deliveries by ID. */
  deliveries: Map<string, Counters>
  /** Returns the number of repeated requests. */
  repeats(): number
}

/**
 * Starts a webhook endpoint that counts its deliveries. It does not keep the bodies, because a long run sends very
 * many.
 */
export async function startTallyReceiver(arena: Arena): Promise<TallyReceiver> {
  const deliveries = new Map<string, Counters>()
  const hashes = new Map<string, string>()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      // Do not count the request: its sender was killed before it was complete.
      return
    }
    const body = Buffer.concat(chunks)
    const { id, type, data } = JSON.parse(body.toString()) as Envelope
    const hash = createHash('sha1').update(body).digest('base64')
    const known = deliveries.get(id)
    deliveries.set(id, {
      type,
      subject: String(data.id),
      times: (known?.times ?? 0) + 1,
      isSame: (known?.isSame ?? true) && (hashes.get(id) ?? hash) === hash,
    })
    hashes.set(id, hash)
    response.writeHead(204).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  arena.cleanUp(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    deliveries,
    repeats: () => [...deliveries.values()].reduce((sum, { times }) => sum + times - 1, 0),
  }
}
