import type { Knex } from 'knex'
import { ApiError } from '../core/errors.ts'
import type { Connections, Database } from './db/database.ts'
import type { ProjectScope } from './db/project-scope.ts'
import { DeviceLists } from './devices/device-lists.ts'
import { DeviceLogs } from './devices/device-logs.ts'
import { ChainHeads } from './evidence/chain-heads.ts'
import { ChainReader } from './evidence/chain-reader.ts'
import { Chains } from './evidence/chains.ts'
import { Backlog } from './jobs/backlog.ts'
import { Instances, Leases, Settings } from './jobs/fleet.ts'
import { InstrumentedJobs } from './jobs/instrumented-jobs.ts'
import type { Queue } from './jobs/job-kinds.ts'
import type { Jobs } from './jobs/jobs.ts'
import { BroadcastClasses } from './messages/broadcast-classes.ts'
import { Broadcasts } from './messages/broadcasts.ts'
import { Notifications } from './messages/notifications.ts'
import { AuditLog } from './operations/audit-log.ts'
import { Counts } from './operations/counts.ts'
import { Erasure, Retention } from './operations/erasure.ts'
import { Figures } from './operations/figures.ts'
import { HandOver } from './operations/hand-over.ts'
import { Moves } from './operations/moves.ts'
import { Overviews } from './operations/overview.ts'
import { Rejections } from './operations/rejections.ts'
import type { StoreEvent, StoreListener } from './operations/store-events.ts'
import { FormerPasses } from './passes/former-passes.ts'
import { GoogleClasses } from './passes/google-classes.ts'
import { GoogleObjects } from './passes/google-objects.ts'
import { Groups } from './passes/groups.ts'
import { HeldPasses } from './passes/held-passes.ts'
import { Identifiers } from './passes/identifiers.ts'
import { ImportedPasses } from './passes/imported-passes.ts'
import { Nudges } from './passes/nudges.ts'
import { Passes } from './passes/passes.ts'
import { Registrations } from './passes/registrations.ts'
import { Wallets } from './passes/wallet-list.ts'
import { AcceptedScans } from './scans/accepted-scans.ts'
import { Scans } from './scans/scans.ts'
import { Snapshots } from './scans/snapshot.ts'
import { Images } from './templates/images.ts'
import { TemplateVersions } from './templates/template-versions.ts'
import { Templates } from './templates/templates.ts'
import { Deliveries } from './webhooks/deliveries.ts'
import { EventLog } from './webhooks/event-log.ts'
import { Events } from './webhooks/events.ts'
import { Webhooks } from './webhooks/webhooks.ts'
import { Doors } from './workspaces/doors.ts'
import { Identities } from './workspaces/identities.ts'
import { Limits, Usage } from './workspaces/limits.ts'
import { Projects } from './workspaces/projects.ts'
import { Tokens } from './workspaces/tokens.ts'
import { Workspaces } from './workspaces/workspaces.ts'

/** The connection or transaction that repositories share, their listener, and the projects that they are limited to. */
interface Connected extends Required<StoreListener> {
  db: Knex
  scope: ProjectScope | undefined
}

/** How each repository is created. */
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
  registrations: ({ db }) => new Registrations(db),
  deviceLists: ({ db }) => new DeviceLists(db),
  googleObjects: ({ db }) => new GoogleObjects(db),
  googleClasses: ({ db }) => new GoogleClasses(db),
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

/** Reads go to the store itself; whatever writes happens in a transaction. */
export interface Store extends Repositories, Pick<Database, 'passesATurn'> {
  /** True where every write is refused: see frozen(). */
  isFrozen: boolean
  /** Runs the work in one transaction: all of it is written, or nothing. Only SQL may be awaited inside. */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /** The same for work that is one statement, which commits by itself: a third of the way to the database and back. */
  statement<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /**
   * The same for the requests of a party, which is a workspace, or PUBLIC: within its share of the connections, and with a
   * time limit for each statement outside a transaction.
   */
  forRequests(party: string, options?: RequestStoreOptions): Store
  /** The same for jobs: those of a workspace, or what hands out those of a queue. No time limit, and no end to the wait. */
  forJobs(party: string): Store
}

/** What the requests of one kind are given of the store. */
export interface RequestStoreOptions {
  /** They write after those that are not. */
  isLarge?: boolean
  /** They see and touch what belongs to these projects, and nothing else of their workspace. */
  scope?: ProjectScope
}

/** Whoever comes without a token: people who open links, and phones. */
export const PUBLIC = 'public'

/** Stores of so many sets of projects are kept for each party; one that is made anew is the same. */
const MAX_SCOPES = 1_000

/** The store itself is that of operators and of maintenance; but tokens are found through a connection of their own. */
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
 * The same store for a server that must write nothing, while its database is copied: reads go on, and each write is refused.
 * @throws from what writes: ApiError SERVICE_UNAVAILABLE
 */
export function frozen(store: Store): Store {
  const refuse = async () => {
    throw new ApiError('SERVICE_UNAVAILABLE', {
      message: 'The server is read-only during a data migration. Retry later.',
      headers: { 'retry-after': '30' },
    })
  }
  return {
    ...store,
    isFrozen: true,
    transaction: refuse,
    statement: refuse,
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
  const onReader = { db: reader, onDue: refuseWrite, onEvent: refuseWrite, scope }
  const reads = Object.fromEntries(
    Object.entries(factories).map(([name, create]) => [name, create(onReader)]),
  ) as unknown as Repositories

  /** Tells what was written once it is committed. */
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

function refuseWrite(): never {
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
