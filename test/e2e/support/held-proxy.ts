import { createServer, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { CleanUp } from '../../support/databases.ts'

export interface HeldProxy {
  url: string
  /** Forwards the given number of held requests. Resolves once the next one has arrived and is held. */
  answer(count: number): Promise<void>
  /** Forwards all requests, including the held ones. */
  release(): void
}

/** Starts a proxy in front of a server that holds requests of one kind, so that a test can stop a client meanwhile. */
export async function startHeldProxy(
  target: string,
  kind: `${'GET' | 'PATCH' | 'POST'} /${string}`,
  cleanUp: CleanUp = onTestFinished,
): Promise<HeldProxy> {
  let left = 0
  let onHeld: () => void = () => undefined
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const server: Server = createServer(async (request, response) => {
    const { method, url, headers } = request
    if (`${method} ${url}`.startsWith(kind)) {
      left -= 1
      if (left < 0) {
        onHeld()
        await released
      }
    }
    const forwarded = send(target + url, { method, headers }, (answer) => {
      const { connection, 'keep-alive': _, ...kept } = answer.headers
      response.writeHead(answer.statusCode!, kept)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUp(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: (count) => {
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
