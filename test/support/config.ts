import type { Config } from '../../src/server/config.ts'

/** Returns the settings of a server with the sandbox, on a free port and without limits. Tests can replace them. */
export function testConfig(settings: Partial<Config> & Pick<Config, 'databaseUrl'>): Config {
  return {
    host: '127.0.0.1',
    port: 0,
    role: 'all',
    isProduction: false,
    platforms: ['apple', 'google'],
    previousServerKeys: [],
    rateLimit: 0,
    rateBurst: 0,
    maxConnections: 1_000,
    linkTtlDays: 400,
    retention: { deliveriesDays: 30, auditDays: 365 },
    allowInsecureWebhooks: false,
    trustedProxies: 0,
    faults: [],
    apple: {},
    google: {},
    ...settings,
  }
}
