import { setTimeout as sleep } from 'node:timers/promises'
import { toNodeHandler } from 'h3/node'
import type { Platform } from '../../core/contract/schemas/platform.ts'
import { SetupError } from '../../core/errors.ts'
import { openDatabase } from '../../storage/db/database.ts'
import { migrate, unknownMigrations } from '../../storage/db/migrate.ts'
import type { OnDue } from '../../storage/jobs/job-kinds.ts'
import type { StoreEvent } from '../../storage/operations/store-events.ts'
import { createStore, frozen, type Store } from '../../storage/store.ts'
import type { AppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { createJoinLimits } from '../admission/join-limits.ts'
import { createLimits } from '../admission/rate-limit.ts'
import { operator } from '../api/audit.ts'
import { jobHandlers, onDiscard, queueOptions } from '../background/job-handlers.ts'
import { startScheduler } from '../background/scheduler.ts'
import { certificatesOf, certificatesOfIdentities, watchCertificates } from '../certificates.ts'
import { type Config, isLoopback, type OidcConfig } from '../config.ts'
import type { Services } from '../context.ts'
import { createToken, endingTokens, type MadeToken } from '../create-token.ts'
import { createCursors } from '../http/cursors.ts'
import { createReadiness } from '../http/readiness.ts'
import { createSecurityLog } from '../http/security-log.ts'
import { resealIdentities } from '../identities/credentials.ts'
import { SANDBOX_PASS_TYPE } from '../identities/sandbox.ts'
import { noteAddress } from '../inbound/apple-service.ts'
import { startWorker } from '../jobs/worker.ts'
import type { Logger } from '../log.ts'
import { createMailer, type MailSettings } from '../mail/mailer.ts'
import { startDatabaseWatch } from '../metrics/database-watch.ts'
import { startMetrics } from '../metrics/listener.ts'
import { countEvent, countProviderCall, createMetrics } from '../metrics/metrics.ts'
import { loadBadges } from '../pages/badges.ts'
import type { People, PeopleOptions } from '../people/sign-in-routes.ts'
import { createOutbound } from '../webhooks/outbound.ts'
import { createApp } from './app.ts'
import { assertSound, onDatabase } from './database-error.ts'
import { startInstances } from './instances.ts'
import { choosePort, type Listener, startListener, urlHost } from './listener.ts'
import { fitConnections } from './open-files.ts'
import { startProviders } from './providers.ts'
import { watchAppleFiles } from './renewal.ts'
import { loadServerKeys } from './server-key.ts'
import { createServices } from './services.ts'
import { createWallets, loadIdentities, type ServerIdentities } from './wallets.ts'

export interface RunningServer {
  /** The listening address; empty for a worker. */
  url: string
  publicUrl: string
  metricsUrl: string | undefined
  sandboxed: Platform[]
  /** An owner token of the workspace `default`, if the database was empty. */
  firstToken: string | undefined
  firstTokenEnds: Date | undefined
  /** Whether no token in the database was ever used, which can mean that the operator has lost the first token. */
  lacksToken: boolean
  /**
   * Stops claiming jobs. Serves requests for another `drainSeconds`, while /readyz tells proxies to send no more. Then
   * stops accepting connections, and waits for work in flight.
   */
  close(options?: { drainSeconds: number }): Promise<void>
  /** Returns jobs in flight to the queue. Call it before the process exits if `close` takes too long. */
  abandon(): Promise<void>
}

export interface ServeOptions {
  config: Config
  log: Logger
  version?: string
  clock?: () => Date
  /** Whether to create an owner token in an empty database. The caller must show the token. Default: true. */
  makesFirstToken?: boolean
  /** Stores the owner token of an empty database. The server is ready when this has completed. */
  onFirstToken?: (token: string) => Promise<void>
  /** Stops the start. A running migration completes first. After the start, call `close` instead. */
  stop?: AbortSignal
}

/**
 * The time after which a connection to PostgreSQL that does not respond counts as lost, for background work. A failover
 * can drop connections without closing them. The time is shorter than that after which /readyz reports a hung worker.
 */
const RESPONSE_LIMIT_MS = 25_000

/**
 * Migrates the database, checks the credentials, and starts serving.
 * @throws SetupError if the server cannot start; the reason of `stop` if it aborts before the server serves
 */
export async function startServer(options: ServeOptions): Promise<RunningServer> {
  const { config, log, clock = () => new Date(), version = 'unknown', makesFirstToken = true, stop } = options
  await assertSound(config.databaseUrl)
  const database = openDatabase(config.databaseUrl, { responseLimitMs: RESPONSE_LIMIT_MS })
  const metrics = createMetrics()
  let wake: OnDue = () => undefined
  let merge: (event: StoreEvent) => void = () => undefined
  const store = createStore(database, {
    onDue: (place) => wake(place),
    onEvent: (event) => {
      countEvent(metrics, event)
      merge(event)
    },
  })
  const closers: (() => Promise<void>)[] = [() => database.close()]
  const stopping = new AbortController()
  const workers: (() => Promise<void>)[] = []
  let abandon: RunningServer['abandon'] = async () => undefined
  let listener: Listener | undefined
  let isStarted = false
  const close = async ({ drainSeconds } = { drainSeconds: 0 }) => {
    stopping.abort()
    const worked = Promise.all(workers.map((stop) => stop()))
    if (listener && drainSeconds > 0) {
      listener.drain()
      await sleep(drainSeconds * 1000)
    }
    await listener?.close()
    await worked
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    requirePublicUrl(config)
    if (config.isFrozen && config.role === 'worker') {
      throw new SettingsError('A worker with --freeze would have nothing to do. Stop it instead.')
    }
    const badges = config.badgesFolder === undefined ? undefined : loadBadges(config.badgesFolder)
    const migrations = await onDatabase(config.databaseUrl, async () => {
      // Use other connections, because the statements of a migration have no time limit.
      const unlimited = openDatabase(config.databaseUrl)
      await migrate(unlimited, { signal: stop }).finally(unlimited.close)
      return unknownMigrations(database.reader)
    })
    if (migrations.length > 0)
      log.warn({ migrations }, 'a newer version migrated this database: update this server soon')
    const watch = await startDatabaseWatch({ database, clock, log, isFrozen: config.isFrozen })
    closers.push(watch.stop)
    const keys = await loadServerKeys(config, store)
    const identities = await loadIdentities(config, clock())
    await requireSamePassType(identities, store)
    const port = config.role === 'worker' ? 0 : await choosePort(config)
    const url = config.role === 'worker' ? '' : `http://${urlHost(config.host)}:${port}`
    const publicUrl = (config.publicUrl ?? url).replace(/\/+$/, '')
    if (config.role !== 'worker' && !config.isFrozen) await noteAddress(store, publicUrl)

    const providers = await startProviders({
      config,
      identities,
      url,
      clock,
      log,
      onCall: (call) => countProviderCall(metrics, call),
    })
    closers.push(() => providers.close())
    const outbound = createOutbound({ allowInsecure: config.allowInsecureWebhooks })
    closers.push(() => outbound.close())
    const mail = config.mail && createMailer(mailSettings(config.mail, publicUrl), noteMail({ log, metrics }))
    if (mail) closers.push(async () => mail.close())
    const services = createServices({
      store: config.isFrozen ? frozen(store) : store,
      keys,
      publicUrl,
      linkTtlDays: config.linkTtlDays,
      badges,
      retention: config.retention,
      createWallets: (loadImageFiles) => createWallets(identities, { publicUrl, loadImageFiles }),
      push: providers.push,
      google: providers.google,
      connections: providers.connections,
      outbound,
      ...(mail && { mail }),
      stopping: stopping.signal,
      clock,
      isClockOff: watch.isClockOff,
      log,
      metrics,
    })
    merge = services.wakeUps.merge
    closers.push(async () => services.close(), services.doorActivity.flush, services.linkOpens.flush)
    closers.push(services.identities.close)
    await services.webhookSecrets.reseal(store, log)
    await services.signingKeys.reseal(store, log)
    await resealIdentities(store, keys, log)
    await services.identities.refresh()

    const certificates = () => [...certificatesOf(identities), ...certificatesOfIdentities(services.identities.list())]
    closers.push(watchCertificates(certificates, { clock, log }).stop)
    const { renewable } = providers
    if (renewable) {
      const renew = (apple: AppleIdentity) => {
        renewable.renew(apple)
        services.wallets.apple?.renew(apple)
        identities.apple = apple
        services.breakers.of('apple', null).renewed()
      }
      closers.push(watchAppleFiles({ config, identities, renew, clock, log }).stop)
    }
    const metricsListener = await startMetrics(services, {
      config,
      certificates,
      version,
      isDamaged: () => database.findDamage() !== undefined,
      watch,
    })
    if (metricsListener) closers.push(metricsListener.close)

    stop?.throwIfAborted()
    let isWorking: (() => boolean) | undefined
    if (config.role !== 'api' && !config.isFrozen) {
      const bulkPushes = { ...queueOptions.pushes.bulk, perSecond: config.pushRate || undefined }
      const queues = { ...queueOptions, pushes: { ...queueOptions.pushes, bulk: bulkPushes } }
      const worker = startWorker(services, { handlers: jobHandlers, onDiscard, queues })
      const scheduler = startScheduler(services)
      wake = worker.wake
      isWorking = worker.isRunning
      workers.push(worker.stop, scheduler.stop)
      abandon = worker.abandon
    }
    if (config.role !== 'worker') {
      const { isWritable, isClockOff } = watch
      const isServing = () => isStarted && !stopping.signal.aborted
      const readiness = createReadiness({ database, isWritable, isWorking, isClockOff, isServing })
      const limits = createLimits({ perSecond: config.rateLimit, burst: config.rateBurst })
      if (limits.buckets && !config.isFrozen) closers.push(startInstances(services, limits.buckets).stop)
      const security = createSecurityLog(log)
      const { trustedProxies } = config
      const cursors = createCursors(keys)
      const { applePrefixes = [], corsOrigins } = config
      const joinLimits = createJoinLimits(config.joinRates)
      const requests = { trustedProxies, applePrefixes, corsOrigins, joinLimits }
      const people = config.oidc && (await openPeople(config.oidc, { services, keys, publicUrl }))
      if (people) closers.push(people.close)
      const app = createApp({ services, providers, readiness, cursors, limits, security, people, ...requests })
      listener = await startListener(config.host, port, toNodeHandler(app), {
        maxConnections: fitConnections(config.maxConnections, log),
        isDirect: trustedProxies === 0,
        onRejected: (reason, address) => security.note('connection refused', { address, reason }),
      })
    }
    // Create the token only after the listener has started: if the start failed, the token would never be shown.
    const first = makesFirstToken ? await createFirstToken(store, clock()) : undefined
    if (first) await options.onFirstToken?.(first.text)
    const lacksToken = !first && (await store.tokens.isUnused())
    const ending = await endingTokens(store, clock())
    if (ending.length > 0) log.warn({ tokens: ending }, 'tokens expire within 30 days: run "passes token rotate"')
    isStarted = true
    const { sandboxed } = identities
    const started = { url, publicUrl, metricsUrl: metricsListener?.url, sandboxed, lacksToken, close, abandon }
    return { ...started, firstToken: first?.text, firstTokenEnds: first?.token.expiresAt ?? undefined }
  } catch (error) {
    await close()
    throw error
  }
}

/** Creates the workspace `default` and an owner token for it, if the database is empty. */
export function createFirstToken(store: Store, at: Date): Promise<MadeToken | undefined> {
  return store.transaction(async (tx) => {
    if (!(await tx.workspaces.isEmpty())) return undefined
    const workspace = await tx.workspaces.insert('default', at)
    // Another server that started at the same time created the workspace first.
    if (!workspace) return undefined
    const made = await createToken(tx, workspace.id, { name: 'first owner', role: 'owner' }, at)
    const entry = { actor: operator('serve'), correlationId: null }
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'workspace.create', targetId: workspace.id }, at)
    await tx.auditLog.insert(workspace.id, { ...entry, action: 'token.create', targetId: made.token.id }, at)
    return made
  })
}

/** Returns a function that records whether the SMTP server accepts email, and logs each change. */
export function noteMail({ log, metrics }: Pick<Services, 'log' | 'metrics'>): (reason?: string) => void {
  let isDown = false
  return (reason) => {
    if (!isDown && reason !== undefined)
      log.error({ reason }, 'the SMTP server does not accept email: run "passes doctor"')
    if (isDown && reason === undefined) log.info('the SMTP server accepts email again')
    isDown = reason !== undefined
    metrics.mailDown.set(isDown ? 1 : 0)
  }
}

/** Uses `passes@` and the host of the public URL as the default sender. */
function mailSettings({ smtpUrl, from }: NonNullable<Config['mail']>, publicUrl: string): MailSettings {
  return { url: smtpUrl, from: from ?? `passes@${new URL(publicUrl).hostname}` }
}

class SettingsError extends SetupError {
  override readonly name = 'SettingsError'
}

/**
 * @throws SettingsError in production if the public URL is not https, because phones use this URL as long as they hold
 * a pass
 */
function requirePublicUrl({ isProduction, publicUrl, role }: Config): void {
  if (!isProduction || publicUrl?.startsWith('https://')) return
  const given = publicUrl === undefined ? 'none is given' : `${publicUrl} is not`
  throw new SettingsError(
    `--production needs an https --public-url, but ${given}. Every pass contains this URL permanently: phones ` +
      'fetch updates from it, and Google fetches images. Give the address at which phones reach this service, such ' +
      'as --public-url https://passes.example.com ' +
      `(PASSES_PUBLIC_URL)${role === 'worker' ? ', the same for every process' : ''}.`,
  )
}

/** @throws SettingsError if the public URL is neither https nor loopback */
async function openPeople(config: OidcConfig, options: Omit<PeopleOptions, 'config'>): Promise<People> {
  const { protocol, hostname } = new URL(options.publicUrl)
  if (protocol !== 'https:' && !isLoopback(hostname)) {
    throw new SettingsError(
      `--oidc-issuer needs an https --public-url, because browsers keep session cookies only over https, but ` +
        `${options.publicUrl} is not. Give the address at which browsers reach this service, such as --public-url ` +
        'https://passes.example.com (PASSES_PUBLIC_URL).',
    )
  }
  const { createPeople } = await import('../people/sign-in-routes.ts')
  return createPeople({ ...options, config })
}

const PASS_TYPE = 'apple-pass-type'

/**
 * Requires the Apple pass type that the database stores. The pass type can change only while no phone holds a pass.
 * Otherwise, passes of the previous type would never be updated again.
 * @throws CredentialError if the type differs
 */
async function requireSamePassType({ apple }: ServerIdentities, store: Store): Promise<void> {
  if (!apple) return
  const { passTypeIdentifier } = apple
  const known = await store.transaction(async (tx) => {
    const first = await tx.settings.insert(PASS_TYPE, passTypeIdentifier)
    if (first === passTypeIdentifier) return first
    // The pass type of the sandbox can always be replaced, because only virtual phones hold its passes.
    if (first !== SANDBOX_PASS_TYPE && (await tx.registrations.hasAny())) return first
    await tx.settings.update(PASS_TYPE, passTypeIdentifier)
    return passTypeIdentifier
  })
  if (known === passTypeIdentifier) return
  const found =
    passTypeIdentifier === SANDBOX_PASS_TYPE
      ? 'Without credentials, Apple would run in the sandbox'
      : `The Apple certificate is for the pass type identifier ${passTypeIdentifier}`
  throw new CredentialError(
    `${found}, but phones hold passes of ${known}, which would never be updated again. Start with a certificate for ` +
      `${known} (--apple-certificate, --apple-key; Apple renews it for the same identifier), or use a separate ` +
      `database for ${passTypeIdentifier}.`,
  )
}
