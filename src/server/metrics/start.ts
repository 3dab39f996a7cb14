import type { Certificate } from '../boot/certificates.ts'
import type { Config } from '../boot/config.ts'
import { ListenError } from '../boot/listen-error.ts'
import type { Services } from '../context.ts'
import { registerGauges } from './gauges.ts'
import { type MetricsListener, startMetricsListener } from './listener.ts'

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
