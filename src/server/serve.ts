import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:net'
import { toNodeHandler } from 'h3/node'
import { type Listener, listen } from 'listhen'
import { openDatabase } from '../storage/database.ts'
import type { Lane } from '../storage/jobs.ts'
import { migrate, pendingMigrations } from '../storage/migrate.ts'
import { createStore, type Store } from '../storage/store.ts'
import type { Platform } from '../wallets/wallet.ts'
import { createApp } from './app.ts'
import { certificatesOf, watchCertificates } from './certificates.ts'
import type { Config } from './config.ts'
import type { Services } from './context.ts'
import { createDefinitions } from './definitions.ts'
import { createGoogleSync } from './google-sync.ts'
import { createIssuing } from './issuing.ts'
import { giveUp, jobHandlers, laneOptions } from './jobs/handlers.ts'
import { startScheduler } from './jobs/scheduler.ts'
import { startWorker } from './jobs/worker.ts'
import { createLinks } from './links.ts'
import { ListenError } from './listen-error.ts'
import type { Logger } from './log.ts'
import { countNews, countProviderCall } from './metrics/count.ts'
import { createMetrics } from './metrics/metrics.ts'
import { startMetrics } from './metrics/start.ts'
import { createOutbound } from './outbound.ts'
import { startProviders } from './providers.ts'
import { loadServerKeys } from './server-key.ts'
import { createFirstToken } from './tokens.ts'
import { createWallets, loadIdentities } from './wallets.ts'
import { createWebhookSecrets } from './webhook-secrets.ts'

export interface RunningServer {
  /** The listening address; empty for a server that only works. */
  url: string
  publicUrl: string
  /** Where metrics are served. */
  metricsUrl: string | undefined
  /** Platforms that run against local stand-ins. */
  sandboxed: Platform[]
  /** An owner token of the workspace `default`, when the database was empty. */
  firstToken: string | undefined
  /** No new connections or claims; what is in flight finishes. */
  close(): Promise<void>
}

export interface ServeOptions {
  config: Config
  log: Logger
  /** Of the program, as metrics tell it. */
  version?: string
  clock?: () => Date
}

/**
 * Migrates the database, checks credentials, and serves.
 * @throws CredentialError, ServerKeyError, DatabaseUrlError, ListenError: each says what to do
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { config, log, clock = () => new Date(), version = 'unknown' } = options
  const database = openDatabase(config.databaseUrl)
  const metrics = createMetrics()
  let wake: (lane: Lane) => void = () => undefined
  const store = createStore(database, {
    onDue: (lane) => wake(lane),
    onNews: (news) => countNews(metrics, news),
  })
  const closers: (() => Promise<void>)[] = [() => database.close()]
  const stopping = new AbortController()
  const close = async () => {
    stopping.abort()
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    await migrate(database)
    const keys = await loadServerKeys(config, store)
    const identities = await loadIdentities(config, clock())
    const firstToken = await createFirstToken(store, clock())
    const port = config.role === 'worker' ? 0 : await choosePort(config)
    const url = config.role === 'worker' ? '' : `http://${urlHost(config.host)}:${port}`
    const publicUrl = (config.publicUrl ?? url).replace(/\/+$/, '')

    const wallets = createWallets(identities, { publicUrl, loadImage: (id) => loadImage(store, id) })
    const links = createLinks({ keys, publicUrl, platforms: config.platforms, ttlDays: config.linkTtlDays })
    const issuing = createIssuing(store, wallets)
    const providers = await startProviders({
      ...{ config, identities, url, clock, log },
      onCall: (call) => countProviderCall(metrics, call),
    })
    closers.push(() => providers.close())
    const { push, googleApi: api } = providers
    const google = api && wallets.google && createGoogleSync({ api, wallet: wallets.google, store, issuing, clock })
    const webhookSecrets = createWebhookSecrets(keys)
    await webhookSecrets.reseal(store)
    const outbound = createOutbound({ allowInsecure: config.allowInsecureWebhooks })
    closers.push(() => outbound.close())
    const services: Services = {
      ...{
        store,
        wallets,
        links,
        issuing,
        definitions: createDefinitions(store),
        webhookSecrets,
        outbound,
        clock,
        log,
        metrics,
      },
      stopping: stopping.signal,
      ...(push && { push }),
      ...(google && { google }),
    }

    const certificates = certificatesOf(identities)
    closers.push(watchCertificates(certificates, { clock, log }).stop)
    const metricsListener = await startMetrics(services, { config, certificates, version })
    if (metricsListener) closers.push(metricsListener.close)

    let isWorking = () => true
    if (config.role !== 'api') {
      const worker = startWorker(services, { handlers: jobHandlers, giveUp, lanes: laneOptions })
      const scheduler = startScheduler(services)
      wake = worker.wake
      isWorking = worker.isRunning
      closers.push(worker.stop, scheduler.stop)
    }
    if (config.role !== 'worker') {
      const readiness = async () => ({
        database: await canRead(store),
        migrations: await isMigrated(database),
        worker: isWorking(),
      })
      const app = createApp({
        services,
        providers,
        readiness,
        rateLimit: { perSecond: config.rateLimit, burst: config.rateBurst },
        trustedProxies: config.trustedProxies,
      })
      const listener = await listenOn(config.host, port, toNodeHandler(app))
      closers.push(() => closeListener(listener))
    }
    return { url, publicUrl, metricsUrl: metricsListener?.url, sandboxed: identities.sandboxed, firstToken, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Sockets that send their headers more slowly are closed. */
const HEADERS_TIMEOUT_MS = 10_000

/** Requests in flight at the end have so long to finish. */
const DRAIN_MS = 10_000

async function listenOn(hostname: string, port: number, handler: ReturnType<typeof toNodeHandler>): Promise<Listener> {
  const listener = await listen(handler as Parameters<typeof listen>[0], {
    hostname,
    port,
    isProd: true,
    isTest: false,
    showURL: false,
    autoClose: false,
    qr: false,
    publicURL: '',
  })
  Object.assign(listener.server, { headersTimeout: HEADERS_TIMEOUT_MS })
  return listener
}

/** Requests in flight are answered first; a client that is still sending its own after a while is cut off. */
async function closeListener(listener: Listener): Promise<void> {
  const cutOff = setTimeout(() => (listener.server as Server).closeAllConnections(), DRAIN_MS)
  await listener.close()
  clearTimeout(cutOff)
}

/** listhen moves to another port without a word where one is taken, so the port is tried first. */
async function choosePort({ host, port }: Pick<Config, 'host' | 'port'>): Promise<number> {
  const probe = createServer()
  try {
    probe.listen(port, host)
    await once(probe, 'listening')
    return (probe.address() as { port: number }).port
  } catch (error) {
    throw new ListenError({ host, port }, error, '--port or --host')
  } finally {
    probe.close()
  }
}

function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

async function loadImage(store: Store, id: string): Promise<Uint8Array> {
  const image = await store.images.findPublic(id)
  if (!image) throw new Error(`There is no image ${id}`)
  return image.data
}

async function canRead(store: Store): Promise<boolean> {
  try {
    await store.settings.find('server-key-fingerprint')
    return true
  } catch {
    return false
  }
}

async function isMigrated(database: Parameters<typeof pendingMigrations>[0]): Promise<boolean> {
  try {
    return (await pendingMigrations(database)).length === 0
  } catch {
    return false
  }
}
