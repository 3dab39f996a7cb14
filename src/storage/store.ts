import type { Knex } from 'knex'
import { ApiError } from '../core/errors.ts'
import type { Connections, Database } from './db/database.ts'
import type { ProjectScope } from './db/project-scope.ts'
import { DeviceLists } from './devices/device-lists.ts'
import { DeviceLogs } from './devices/device-logs-repository.ts'
import { ChainHeads } from './evidence/chain-heads.ts'
import { ChainReader } from './evidence/chain-reader.ts'
import { Chains } from './evidence/chains.ts'
import { Backlog } from './jobs/backlog.ts'
import { Instances, Leases, Settings } from './jobs/fleet.ts'
import { InstrumentedJobs } from './jobs/instrumented-jobs.ts'
import type { Queue } from './jobs/job-kinds.ts'
import type { Jobs } from './jobs/jobs-repository.ts'
import { BroadcastClasses } from './messages/broadcast-classes.ts'
import { Broadcasts } from './messages/broadcasts-repository.ts'
import { Notifications } from './messages/notifications-repository.ts'
import { AuditLog } from './operations/audit-log.ts'
import { Counts } from './operations/counts.ts'
import { Erasure, Retention } from './operations/erasure.ts'
import { Figures } from './operations/figures-repository.ts'
import { HandOver } from './operations/hand-over.ts'
import { Moves } from './operations/moves.ts'
import { Overviews } from './operations/overview.ts'
import { Rejections } from './operations/rejections.ts'
import type { StoreEvent, StoreListener } from './operations/store-events.ts'
import { FormerPasses } from './passes/former-passes.ts'
import { Groups } from './passes/groups-repository.ts'
import { HeldPasses } from './passes/held-passes.ts'
import { Identifiers } from './passes/identifiers.ts'
import { ImportedPasses } from './passes/imported-passes.ts'
import { Nudges } from './passes/nudges.ts'
import { Passes } from './passes/passes-repository.ts'
import { Wallets } from './passes/wallet-list.ts'
import { walletRepositories } from './passes/wallet-tables.ts'
import { AcceptedScans } from './scans/accepted-scans.ts'
import { Scans } from './scans/scans-repository.ts'
import { Snapshots } from './scans/snapshot.ts'
import { Images } from './templates/images-repository.ts'
import { TemplateVersions } from './templates/template-versions-repository.ts'
import { Templates } from './templates/templates-repository.ts'
import { Deliveries } from './webhooks/deliveries-repository.ts'
import { EventLog } from './webhooks/event-log.ts'
import { Events } from './webhooks/events-repository.ts'
import { Webhooks } from './webhooks/webhooks-repository.ts'
import { Doors } from './workspaces/doors-repository.ts'
import { Identities } from './workspaces/identities-repository.ts'
import { Limits, Usage } from './workspaces/limits-repository.ts'
import { Projects } from './workspaces/projects-repository.ts'
import { Tokens } from './workspaces/tokens-repository.ts'
import { Workspaces } from './workspaces/workspaces-repository.ts'

/** The connection or transaction that repositories share, their listener, and the projects that they are limited to. */
interface Connected extends Required<StoreListener> {
  db: Knex
  scope: ProjectScope | undefined
}

/** The factories of the repositories. */
const factories = {
  settings: ({ db }) => new Settings(db),
  workspaces: ({ db }) => new Workspaces(db),
  tokens: ({ db }) => new Tokens(db),
  doors: ({ db, scope }) => new Doors(db, scope),
  identities: ({ db }) => new Identities(db),
  projects: ({ db, scope }) => new Projects(db, scope),
  templates: ({ db, scope }) => new Templates(db, scope),
  templateVersions: ({ db, scope }) => new TemplateVersions(db, scope),
  images: ({ db }) => new Images(db),
  passes: ({ db, scope }) => new Passes(db, scope),
  ...walletRepositories,
  deviceLists: ({ db }) => new DeviceLists(db),
  rejections: ({ db }) => new Rejections(db),
  notifications: ({ db, onEvent, scope }) => new Notifications(db, onEvent, scope),
  broadcasts: ({ db, onEvent, scope }) => new Broadcasts(db, onEvent, scope),
  broadcastClasses: ({ db }) => new BroadcastClasses(db),
  webhooks: ({ db }) => new Webhooks(db),
  deliveries: ({ db, onEvent }) => new Deliveries(db, onEvent),
  jobs: ({ db, onDue, onEvent }): Jobs => new InstrumentedJobs(db, onDue, onEvent),
  backlog: ({ db }) => new Backlog(db),
  overviews: ({ db }) => new Overviews(db),
  counts: ({ db }) => new Counts(db),
  figures: ({ db }) => new Figures(db),
  events: ({ db, onDue, onEvent }) =>
    new Events(db, new Deliveries(db, onEvent), new InstrumentedJobs(db, onDue, onEvent), onEvent),
  eventLog: ({ db }) => new EventLog(db),
  identifiers: ({ db, scope }) => new Identifiers(db, scope),
  scans: ({ db, onEvent, scope }) => new Scans(db, onEvent, scope),
  acceptedScans: ({ db }) => new AcceptedScans(db),
  formerPasses: ({ db }) => new FormerPasses(db),
  importedPasses: ({ db }) => new ImportedPasses(db),
  handOver: ({ db }) => new HandOver(db),
  moves: ({ db }) => new Moves(db),
  heldPasses: ({ db }) => new HeldPasses(db),
  wallets: ({ db, scope }) => new Wallets(db, scope),
  deviceLogs: ({ db, scope }) => new DeviceLogs(db, scope),
  nudges: ({ db }) => new Nudges(db),
  groups: ({ db }) => new Groups(db),
  snapshots: ({ db, scope }) => new Snapshots(db, scope),
  auditLog: ({ db }) => new AuditLog(db),
  erasure: ({ db }) => new Erasure(db),
  retention: ({ db }) => new Retention(db),
  chains: ({ db }) => new Chains(db),
  chainHeads: ({ db }) => new ChainHeads(db),
  chainReader: ({ db }) => new ChainReader(db),
  leases: ({ db }) => new Leases(db),
  instances: ({ db }) => new Instances(db),
  limits: ({ db }) => new Limits(db),
  usage: ({ db }) => new Usage(db),
} satisfies Record<string, (connected: Connected) => unknown>

/** One repository per resource, all on the same connection or transaction. */
export type Repositories = { [Name in keyof typeof factories]: ReturnType<(typeof factories)[Name]> }

/** The entry point to storage. Reads go through the store itself; writes need a transaction. */
export interface Store extends Repositories, Pick<Database, 'passesATurn'> {
  /** Whether every write is rejected (see `frozen`). */
  isFrozen: boolean
  /** Runs `work` in one transaction, which commits all of its writes or none. `work` must await nothing except SQL. */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /** Like `transaction`, for work that is a single statement. It commits by itself, which takes a third of the round trips. */
  statement<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /**
   * Returns a store for the requests of a party, which is a workspace or `PUBLIC`. The party has a limited share of the
   * connections, and each statement outside a transaction has a time limit.
   */
  forRequests(party: string, options?: RequestStoreOptions): Store
  /**
   * Returns a store for jobs of a workspace, or for claiming jobs of a queue. It waits for its turn without a limit, and its
   * statements have no time limit.
   */
  forJobs(party: string): Store
}

/** Options of a store for requests. */
export interface RequestStoreOptions {
  /** Whether the request writes so much that requests that are not large take precedence. */
  isLarge?: boolean
  /** The projects that the request can access. Everything else in the workspace is hidden. */
  scope?: ProjectScope
}

/** The party of requests without a token: people who open links, and phones. */
export const PUBLIC = 'public'

/** The maximum number of cached stores per party, one for each set of projects. Re-creating one is cheap. */
const MAX_SCOPES = 1_000

/** Returns a store for operators and maintenance. Tokens are always looked up through a separate connection. */
export function createStore(database: Database, listener: StoreListener = {}): Store {
  const stores = new WeakMap<Connections['writer'], Map<string, Store>>()
  const on = (connections: Connections, scope?: ProjectScope): Store => {
    const ofParty = stores.get(connections.writer) ?? new Map<string, Store>()
    stores.set(connections.writer, ofParty)
    const name = scope?.join() ?? ''
    const known = ofParty.get(name)
    if (known) return known
    if (ofParty.size >= MAX_SCOPES) ofParty.clear()
    const store = { ...storeOn(connections, database, listener, scope), ...parties }
    ofParty.set(name, store)
    return store
  }
  const parties = {
    forRequests: (party: string, { isLarge, scope }: RequestStoreOptions = {}) =>
      on(database.forRequests(party, isLarge), scope),
    forJobs: (party: string) => on(database.forJobs(party)),
  }
  return { ...storeOn(database, database, listener), tokens: new Tokens(database.entry), ...parties }
}

/**
 * Returns a store that rejects every write, for a server whose database is being copied.
 * @throws ApiError SERVICE_UNAVAILABLE from every write
 */
export function frozen(store: Store): Store {
  const rejectFrozen = async () => {
    throw new ApiError('SERVICE_UNAVAILABLE', {
      message: 'The server is read-only during a data migration. Retry later.',
      headers: { 'retry-after': '30' },
    })
  }
  return {
    ...store,
    isFrozen: true,
    transaction: rejectFrozen,
    statement: rejectFrozen,
    forRequests: (party, options) => frozen(store.forRequests(party, options)),
    forJobs: (party) => frozen(store.forJobs(party)),
  }
}

function storeOn(
  { reader, writer }: Connections,
  { findDamage, passesATurn }: Pick<Database, 'findDamage' | 'passesATurn'>,
  listener: StoreListener,
  scope?: ProjectScope,
): Omit<Store, 'forRequests' | 'forJobs'> {
  const onReader = { db: reader, onDue: rejectWrite, onEvent: rejectWrite, scope }
  const reads = Object.fromEntries(
    Object.entries(factories).map(([name, create]) => [name, create(onReader)]),
  ) as unknown as Repositories

  /** Runs a write, then notifies the listener of the jobs and events that it committed. */
  async function write<T>(run: (collect: Required<StoreListener>) => Promise<T>): Promise<T> {
    const due = new Set<Queue>()
    const events: StoreEvent[] = []
    const result = await run({ onDue: (queue) => due.add(queue), onEvent: (one) => events.push(one) })
    for (const queue of due) listener.onDue?.(queue)
    for (const one of events) listener.onEvent?.(one)
    return result
  }

  return {
    ...reads,
    passesATurn,
    isFrozen: false,
    transaction: (work) =>
      write((collect) => writer.transaction((tx) => work(createLazily({ db: tx, ...collect, scope })))),
    statement: (work) =>
      write((collect) => {
        const damage = findDamage()
        return damage ? Promise.reject(damage) : work(createLazily({ db: writer, ...collect, scope }))
      }),
  }
}

function rejectWrite(): never {
  throw new Error('Jobs and events are written inside a transaction')
}

/** The repositories of a transaction. Each is created when it is first used. */
class LazyRepositories {
  readonly connected: Connected

  constructor(connected: Connected) {
    this.connected = connected
  }
}

for (const [name, create] of Object.entries(factories)) {
  Object.defineProperty(LazyRepositories.prototype, name, {
    get(this: LazyRepositories) {
      const value = create(this.connected)
      Object.defineProperty(this, name, { value })
      return value
    },
  })
}

const createLazily = (connected: Connected) => new LazyRepositories(connected) as unknown as Repositories
