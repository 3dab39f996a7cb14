import type { Interfaces } from '@oclif/core'
import { parsePlatforms, serveFlags } from './server-flags.ts'
import { requireClearSwitches } from './settings.ts'

/**
 * The settings of a server, as flags and environment gave them.
 * @throws UsageError
 */
export function serverConfig(flags: Interfaces.InferredFlags<typeof serveFlags>) {
  requireClearSwitches(serveFlags)
  return {
    host: flags.host,
    port: flags.port,
    metrics:
      flags['metrics-port'] === undefined ? undefined : { host: flags['metrics-host'], port: flags['metrics-port'] },
    databaseUrl: flags.database,
    publicUrl: flags['public-url']?.href,
    role: flags.role,
    isProduction: flags.production,
    platforms: parsePlatforms(flags.platforms),
    serverKey: flags['server-key'],
    previousServerKeys: flags['previous-server-keys'].split(',').filter((key) => key.trim() !== ''),
    rateLimit: flags['rate-limit'],
    rateBurst: flags['rate-burst'],
    maxConnections: flags['max-connections'],
    linkTtlDays: flags['link-ttl'],
    retention: { deliveriesDays: flags['retain-deliveries'], auditDays: flags['retain-audit'] },
    allowInsecureWebhooks: flags['allow-insecure-webhooks'],
    trustedProxies: flags['trusted-proxies'],
    sandboxFolder: flags['sandbox-dir'],
    faults: flags.fault,
    apple: {
      certificate: flags['apple-certificate'],
      key: flags['apple-key'],
      keyPassphrase: flags['apple-key-passphrase'],
      wwdr: flags['apple-wwdr'],
      passTypeIdentifier: flags['apple-pass-type'],
      teamIdentifier: flags['apple-team'],
    },
    google: { serviceAccount: flags['google-key'], issuerId: flags['google-issuer-id'] },
  }
}
