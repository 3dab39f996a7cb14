import { createPublicKey } from 'node:crypto'
import pLimit from 'p-limit'
import { type Logger, pino } from 'pino'
import { beforeAll, expect, inject } from 'vitest'
import type { ErrorBody } from '../../src/core/contract/schemas/common.ts'
import type { Route, RouteCall, RouteResult } from '../../src/core/route.ts'
import type { JoinLimits } from '../../src/server/admission/join-limits.ts'
import { createLimits, type Limits } from '../../src/server/admission/rate-limit.ts'
import { jobHandlers } from '../../src/server/background/job-handlers.ts'
import { createApp } from '../../src/server/boot/app.ts'
import { createServices, type RunningServices } from '../../src/server/boot/services.ts'
import { createWallets, type ServerIdentities } from '../../src/server/boot/wallets.ts'
import type { OidcConfig } from '../../src/server/config.ts'
import type { Services } from '../../src/server/context.ts'
import { createToken, type TokenOptions } from '../../src/server/create-token.ts'
import { createCursors } from '../../src/server/http/cursors.ts'
import type { IdentityConnections } from '../../src/server/identities/registry.ts'
import { createDecoder, type Decoder } from '../../src/server/images/images.ts'
import { countEvent, createMetrics } from '../../src/server/metrics/metrics.ts'
import { createPeople } from '../../src/server/people/sign-in-routes.ts'
import type { OutboundOptions } from '../../src/server/webhooks/outbound.ts'
import { type Database, type DatabaseOptions, openDatabase } from '../../src/storage/db/database.ts'
import { isSamePlace, type QueuePlace, queuePlaces } from '../../src/storage/jobs/job-kinds.ts'
import type { Job } from '../../src/storage/jobs/jobs-repository.ts'
import type { StoreEvent } from '../../src/storage/operations/store-events.ts'
import { createStore } from '../../src/storage/store.ts'
import { parseAppleIdentity } from '../../src/wallets/apple/apple-identity.ts'
import { createGoogleApi, type GoogleApi } from '../../src/wallets/google/api/google-api.ts'
import { type GoogleIdentity, parseGoogleIdentity } from '../../src/wallets/google/google-identity.ts'
import type { SandboxApple } from '../../src/wallets/sandbox/apple/certificates.ts'
import { createFaults, type Faults } from '../../src/wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../../src/wallets/sandbox/google/google-server.ts'
import { type Answer, checkConformance } from './conformance.ts'
import { cleanUpAfterAll, migratedDatabase, type TestDialect } from './databases.ts'
import { appleNames, madeAt } from './sandbox.ts'
import { webhookServices } from './webhooks.ts'

export interface ApiOptions {
  database?: DatabaseOptions
  rateLimit?: { perSecond: number; burst: number }
  /** The limits to use instead of those of `rateLimit`. */
  limits?: Partial<Limits>
  joinLimits?: JoinLimits
  corsOrigins?: readonly string[]
  /** The logger; a silent one by default. */
  log?: Logger
  readiness?: () => Promise<Record<string, boolean>>
  /** The connections of identities in the database to their platforms. Default: none. */
  connections?: IdentityConnections
  /** The provider at which people sign in, once it runs. Default: none. */
  oidc?: () => OidcConfig
  /** The options to send webhooks. Default: no host is allowed. */
  outbound?: Partial<OutboundOptions>
}

export interface SendOptions {
  /** Text, bytes, and streams are sent unchanged. Other values are sent as JSON. */
  body?: unknown
  headers?: Record<string, string>
}

const publicUrl = 'https://passes.example'

/** One decoder process for all test files of this worker, because starting one from source takes more than a second of CPU. */
const decoder = createDecoder({ log: pino({ level: 'silent' }) })
const inTurn = pLimit(1)
const sharedDecoder: Decoder = {
  decode: (request) => inTurn(() => decoder.decode(request)),
  close: () => undefined,
}

/** Starts an app before the tests of a block and stops it after them. Each test uses its own workspace. */
export function useApi(dialect: TestDialect, options: ApiOptions = {}): Api {
  const api = new Api()
  const cleanUp = cleanUpAfterAll()
  beforeAll(async () => {
    api.databaseUrl = await migratedDatabase(dialect, cleanUp)
    const database = openDatabase(api.databaseUrl, options.database)
    cleanUp(() => database.close())
    const identities = sandboxIdentities()
    const google = await startGoogle(identities, api.faults)
    cleanUp(() => google.close())
    api.googleUrl = google.url
    api.start(database, identities, google.api, options)
    cleanUp(async () => api.services.close())
  })
  return api
}

/** Starts Google's emulator. The server creates classes and objects there before it responds with a save link. */
async function startGoogle({ google: identity }: TestIdentities, faults: Faults) {
  const { clientEmail, issuerId } = identity
  const stand = await startSandboxGoogle({
    clientEmail,
    publicKey: createPublicKey(identity.privateKey),
    issuerId,
    callbackUrl: 'http://127.0.0.1:9/never',
    faults,
  })
  const endpoints = { api: stand.apiUrl, token: stand.tokenUrl }
  const api = createGoogleApi({ identity, endpoints, requestsPerSecond: 1_000 })
  return { api, url: stand.url, close: stand.close }
}

/** The HTTP app in this process, on a separate database, with a clock that a test controls. */
export class Api {
  now = new Date('2026-03-01T12:00:00.000Z')
  /** The faults of the emulators. */
  readonly faults = createFaults()
  /** The address of the Google emulator for phones. */
  googleUrl!: string
  database!: Database
  /** The address of the database, for another server. */
  databaseUrl!: string
  services!: RunningServices
  app!: ReturnType<typeof createApp>
  /** Creates another app with the same options and some changed services. */
  createApp!: (services: Services) => ReturnType<typeof createApp>

  start(database: Database, identities: ServerIdentities, googleApi: GoogleApi, options: ApiOptions): void {
    const metrics = createMetrics()
    const onEvent = (event: StoreEvent) => {
      countEvent(metrics, event)
      this.services?.wakeUps.merge(event)
    }
    const store = createStore(database, { onEvent })
    const keys = { current: Buffer.alloc(32, 7), previous: [] }
    this.database = database
    this.services = createServices({
      store,
      keys,
      publicUrl,
      linkTtlDays: 400,
      google: { api: googleApi, callbacks: { verify: async () => ({ ok: false, reason: 'malformed envelope' }) } },
      ...(options.connections && { connections: options.connections }),
      metrics,
      createWallets: (loadImageFiles) => createWallets(identities, { publicUrl, loadImageFiles }),
      ...webhookServices(options.outbound),
      decoder: sharedDecoder,
      // Report an idle event loop, so that a busy test machine does not delay requests.
      measureEventLoop: () => 0,
      clock: () => this.now,
      log: options.log ?? pino({ level: 'silent' }),
    })
    const people = options.oidc && createPeople({ services: this.services, config: options.oidc(), keys, publicUrl })
    this.createApp = (services) =>
      createApp({
        services,
        people,
        readiness: options.readiness ?? (async () => ({ database: true })),
        cursors: createCursors(keys),
        limits: { ...createLimits(options.rateLimit ?? { perSecond: 0, burst: 0 }), ...options.limits },
        trustedProxies: 0,
        corsOrigins: options.corsOrigins,
        ...(options.joinLimits && { joinLimits: options.joinLimits }),
      })
    this.app = this.createApp(this.services)
  }

  advance(seconds: number): void {
    this.now = new Date(this.now.getTime() + seconds * 1000)
  }

  /** Sends a request. Fails if the contract does not allow the response. */
  async send(method: string, target: string, { body, headers = {} }: SendOptions = {}): Promise<Answer> {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body instanceof ReadableStream
    const url = new URL(target, publicUrl)
    const request = new Request(url, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: (isRaw ? body : JSON.stringify(body)) as RequestInit['body'], duplex: 'half' }),
    })
    const response = await this.app.fetch(request)
    const { status, headers: answered } = response
    const bytes = isEventStream(response) ? await firstPiece(response) : Buffer.from(await response.arrayBuffer())
    const text = bytes.toString()
    const isPlain = method !== 'HEAD' && status !== 304 && !answered.has('content-encoding')
    const isJson = isPlain && answered.get('content-type')?.startsWith('application/json')
    const answer = { status, headers: answered, text, bytes, body: isJson ? JSON.parse(text) : text }
    if (method !== 'HEAD') checkConformance(method, url.pathname, answer)
    return answer
  }

  /** Creates a workspace. Its client has an owner's token with every scope. */
  async workspace(): Promise<TestWorkspace> {
    workspaces += 1
    const { store } = this.services
    const workspace = await store.transaction((tx) => tx.workspaces.insert(`workspace ${workspaces}`, this.now))
    return new TestWorkspace(this, workspace!.id, await this.token(workspace!.id))
  }

  async token(workspaceId: string, options: Partial<TokenOptions> = {}): Promise<string> {
    const token = { name: 'test', role: 'owner' as const, expiresAt: null, ...options }
    return (await this.services.store.transaction((tx) => createToken(tx, workspaceId, token, this.now))).text
  }

  /** Runs jobs like the worker until none is due. */
  async runJobs(): Promise<void> {
    const claim = { limit: 100, leaseSeconds: 10 }
    const { store } = this.services
    for (;;) {
      const waiting = this.database.reader('jobs').where({ claim_token: null, failed_at: null })
      const due = await waiting.where('run_at', '<=', this.now.getTime()).distinct<QueuePlace[]>('queue', 'priority')
      if (due.length === 0) return
      const claims: Job[][] = []
      // Claim only from queues with due jobs, because claims of empty queues would cost more than most jobs.
      const places = queuePlaces.filter((place) => due.some((one) => isSamePlace(one, place)))
      for (const { queue, ...priority } of [...places, { queue: 'quarantine' as const }]) {
        claims.push(await store.transaction((tx) => tx.jobs.claim(queue, this.now, { ...claim, ...priority })))
      }
      if (claims.every((jobs) => jobs.length === 0)) return
      for (const jobs of claims) {
        for (const kind of new Set(jobs.map((job) => job.kind))) {
          const ofKind = jobs.filter((job) => job.kind === kind)
          await jobHandlers[kind](ofKind, this.services)
        }
      }
    }
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type') === 'text/event-stream'
}

/** Reads the first part of a body that does not end. */
async function firstPiece({ body }: Response): Promise<Buffer> {
  const reader = body?.getReader()
  const first = await reader?.read()
  await reader?.cancel()
  return Buffer.from(first?.value ?? [])
}

let workspaces = 0

/** A client of one workspace. It sends typed calls of the contract, and requests that no typed client would send. */
export class TestWorkspace {
  readonly api: Api
  readonly id: string
  readonly token: string

  constructor(api: Api, id: string, token: string) {
    this.api = api
    this.id = id
    this.token = token
  }

  send(method: string, target: string, options: SendOptions = {}): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.token}`, ...options.headers }
    return this.api.send(method, target, { ...options, headers })
  }

  call<R extends Route>(route: R, call: RouteCall<R>, headers: Record<string, string> = {}): Promise<Answer> {
    const { body, contentType, ...where } = call as { body?: unknown; contentType?: string }
    return this.send(route.method, targetOf(route, where), {
      body,
      headers: { ...(contentType && { 'content-type': contentType }), ...headers },
    })
  }

  /**
   * Repeats a call while its response is 503, like clients. On a busy machine, some of many concurrent requests wait
   * for the database until their timeout.
   */
  async served<R extends Route>(route: R, call: RouteCall<R>): Promise<Answer> {
    for (;;) {
      const answer = await this.call(route, call)
      if (answer.status !== 503) return answer
    }
  }

  /** Returns the body of a call that must succeed. */
  async ok<R extends Route>(route: R, call: RouteCall<R>): Promise<RouteResult<R>> {
    const answer = await this.call(route, call)
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.body as RouteResult<R>
  }

  /** Returns the error of a call that must be rejected, with its status. */
  async refused<R extends Route>(route: R, call: RouteCall<R>): Promise<ErrorBody & { status: number }> {
    const answer = await this.call(route, call)
    expect(answer.status, answer.text).toBeGreaterThanOrEqual(400)
    return { ...(answer.body as ErrorBody), status: answer.status }
  }

  /** Returns the events of one row, oldest first. */
  async events(subject: string) {
    const where = { workspace_id: this.id, subject }
    const rows: Record<string, string>[] = await this.api.database.writer('events').where(where).orderBy('id')
    return rows.map((row) => ({ type: row.type, data: JSON.parse(row.data!), correlationId: row.correlation_id }))
  }
}

/** Returns the path and query of a call. A placeholder of the path without a parameter gets the value of `id`. */
export function targetOf(route: Route, { params = {}, query = {} }: { params?: object; query?: object }): string {
  const values = params as Record<string, string>
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? values.id ?? ''),
  )
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const item of [value].flat()) search.append(name, String(item))
  }
  return search.size > 0 ? `${path}?${search}` : path
}

export interface TestIdentities extends ServerIdentities {
  google: GoogleIdentity
  /** All certificates and keys of Apple in the sandbox, as PEM. */
  applePems: SandboxApple
}

export function sandboxIdentities(): TestIdentities {
  const { apple, google } = inject('sandbox')
  const from = (source: string, text: string) => ({ source, pem: Buffer.from(text) })
  const credentials = {
    certificate: from('certificate', apple.certificatePem),
    key: from('key', apple.keyPem),
    wwdr: from('wwdr', apple.wwdrPem),
  }
  return {
    apple: parseAppleIdentity({ ...credentials, ...appleNames }, madeAt),
    google: parseGoogleIdentity({ source: 'google', json: google.serviceAccountJson }, google.issuerId),
    sandboxed: ['apple', 'google'],
    applePems: apple,
  }
}
