import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface HeldProxy {
  url: string
  /** Answers so many more pages of the ledger; resolves once the next one is asked for, and waits. */
  answerPages(count: number): Promise<void>
  /** Answers everything, what it held back too. */
  release(): void
}

/** Stands before a server and holds pages of the ledger back, so that a client is stopped in the middle of an export. */
export async function startHeldProxy(target: string): Promise<HeldProxy> {
  let left = 0
  let onHeld: () => void = () => undefined
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const server: Server = createServer(async (request, response) => {
    if (request.url?.startsWith('/v1/scans')) {
      left -= 1
      if (left < 0) {
        onHeld()
        await released
      }
    }
    const answer = await fetch(target + request.url, { headers: request.headers as Record<string, string> })
    const body = Buffer.from(await answer.arrayBuffer())
    const correlationId = answer.headers.get('x-correlation-id')!
    response
      .writeHead(answer.status, { 'content-type': 'application/json', 'x-correlation-id': correlationId })
      .end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answerPages: (count) => {
      left = count
      return new Promise((resolve) => {
        onHeld = resolve
      })
    },
    release: () => {
      left = Number.POSITIVE_INFINITY
      release()
    },
  }
}
