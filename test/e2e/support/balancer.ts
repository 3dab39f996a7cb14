import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { CleanUp } from '../../support/databases.ts'

export interface Balancer {
  url: string
  /** The servers that receive requests now. */
  ready(): string[]
  /** The number of requests that each server received. */
  sent: Map<string, number>
}

const CHECK_MS = 100

/**
 * Starts a reverse proxy like those of operators. It checks /readyz of each server, and sends requests to the ready servers in
 * turn. It keeps connections open and never retries a request.
 */
export async function startBalancer(servers: string[], cleanUp: CleanUp = onTestFinished): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const sent = new Map<string, number>()
  let ready: string[] = []
  let turn = 0
  let isWatching = true

  /** Checks a server, and applies the result immediately, regardless of slower checks of other servers. */
  async function check(url: string): Promise<void> {
    const isUp = await isReady(url)
    ready = [...ready.filter((other) => other !== url), ...(isUp ? [url] : [])]
  }

  async function watch(url: string): Promise<void> {
    while (isWatching) {
      await check(url)
      await sleep(CHECK_MS)
    }
  }

  const proxy = createServer((incoming, outgoing) => {
    turn += 1
    const target = ready[turn % ready.length]
    if (!target) {
      outgoing.writeHead(502).end('no server is ready')
      return
    }
    sent.set(target, (sent.get(target) ?? 0) + 1)
    const { method, headers } = incoming
    const forwarded = request(new URL(incoming.url!, target), { method, headers, agent }, (answer) => {
      const { connection, 'keep-alive': _, ...kept } = answer.headers
      outgoing.writeHead(answer.statusCode!, kept)
      answer.pipe(outgoing)
    })
    forwarded.on('error', (error) => {
      if (!outgoing.headersSent) outgoing.writeHead(502)
      outgoing.end(`${target}: ${error.message}`)
    })
    incoming.pipe(forwarded)
  })
  await Promise.all(servers.map(check))
  for (const url of servers) watch(url)
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  cleanUp(() => {
    isWatching = false
    proxy.closeAllConnections()
    proxy.close()
    agent.destroy()
  })
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    ready: () => ready,
    sent,
  }
}

async function isReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).ok
  } catch {
    // No server listens at the address now.
    return false
  }
}
