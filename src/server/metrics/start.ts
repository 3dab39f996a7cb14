import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { collectDefaultMetrics, type Registry } from 'prom-client'
import type { Certificate } from '../boot/certificates.ts'
import type { Config } from '../boot/config.ts'
import { ListenError } from '../boot/listen-error.ts'
import type { Logger } from '../boot/log.ts'
import type { Services } from '../context.ts'
import { registerGauges } from './gauges.ts'

export interface StartMetricsOptions {
  config: Pick<Config, 'metrics' | 'role'>
  certificates: Certificate[]
  /** Of the program. */
  version: string
  /** Whether the database was found damaged. */
  isDamaged: () => boolean
}

/**
 * Serves metrics where the configuration asks for it.
 * @throws ListenError
 */
export async function startMetrics(
  { store, metrics, clock, log }: Services,
  { config, certificates, version, isDamaged }: StartMetricsOptions,
): Promise<MetricsListener | undefined> {
  if (!config.metrics) return undefined
  const { host, port } = config.metrics
  metrics.buildInfo.set({ version, node: process.versions.node, role: config.role }, 1)
  registerGauges(metrics, { store, certificates, isDamaged, clock, log })
  try {
    return await startMetricsListener({ host, port, registry: metrics.registry, log })
  } catch (error) {
    throw new ListenError({ host, port }, error, '--metrics-port or --metrics-host')
  }
}

export interface MetricsListener {
  /** The address of the metrics, path included. */
  url: string
  close(): Promise<void>
}

interface MetricsListenerOptions {
  host: string
  /** 0 takes any free port. */
  port: number
  registry: Registry
  log: Logger
}

const PATH = '/metrics'

/** Sockets that send their headers more slowly are closed. */
const SLOW_SOCKETS = { headersTimeout: 10_000, connectionsCheckingInterval: 500 }

/**
 * Serves metrics in Prometheus' text format apart from the interface: who may reach one need not reach the other, and a
 * process that only works has no other listener. What Node says of the process is added.
 * @throws the error of the system where the address cannot be listened on
 */
async function startMetricsListener({ host, port, registry, log }: MetricsListenerOptions): Promise<MetricsListener> {
  collectDefaultMetrics({ register: registry })
  const server = createServer(SLOW_SOCKETS, async (request, response) => {
    if (request.url?.split('?')[0] !== PATH) {
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`Metrics are at ${PATH}.\n`)
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end()
      return
    }
    try {
      const text = await registry.metrics()
      response.writeHead(200, { 'content-type': registry.contentType }).end(text)
    } catch (error) {
      log.error({ err: error }, 'metrics could not be gathered')
      response.writeHead(500).end()
    }
  })
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${name}:${address.port}${PATH}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
