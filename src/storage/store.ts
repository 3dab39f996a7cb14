import { ApiError } from '../core/errors.ts'
import { BalanceEntries } from './balances/balance-entries-repository.ts'
import type { Connections, Database } from './db/database.ts'
import type { Connected, ProjectScope } from './db/repository.ts'
import { DeviceLists } from './devices/device-lists.ts'
import { DeviceLogs } from './devices/device-logs-repository.ts'
import { ChainHeads } from './evidence/chain-heads.ts'
import { ChainReader } from './evidence/chain-reader.ts'
import { Chains } from './evidence/chains.ts'
import { Backlog } from './jobs/backlog.ts'
import { Instances, Leases, Settings } from './jobs/fleet.ts'
import type { DuePlace } from './jobs/job-kinds.ts'
import { Jobs } from './jobs/jobs-repository.ts'
import { JoinIdentities } from './join/join-identities-repository.ts'
import { JoinPages } from './join/join-pages-repository.ts'
import { JoinSubmissions } from './join/join-submissions-repository.ts'
import { BroadcastClasses } from './messages/broadcast-classes.ts'
import { Broadcasts } from './messages/broadcasts-repository.ts'
import { Notifications } from './messages/notifications-repository.ts'
import { AuditLog } from './operations/audit-log.ts'
import { Counts } from './operations/counters.ts'
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
import { Members } from './people/members-repository.ts'
import { People } from './people/people-repository.ts'
import { Sessions } from './people/sessions-repository.ts'
import { AcceptedScans } from './scans/accepted-scans.ts'
import { Replays } from './scans/replays.ts'
import { ScanStats } from './scans/scan-stats.ts'
import { Scans } from './scans/scans-repository.ts'
import { SnapshotEntries } from './scans/snapshot-entries.ts'
import { Snapshots } from './scans/snapshots.ts'
import { Images } from './templates/images-repository.ts'
import { TemplateVersions } from './templates/template-versions-repository.ts'
import { Templates } from './templates/templates-repository.ts'
import { Upgrades } from './templates/upgrades-repository.ts'
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
import { Movements } from './zones/movements-repository.ts'
import { Occupancies } from './zones/occupancy-repository.ts'
import { Zones } from './zones/zones-repository.ts'

const repositories = {
  settings: Settings,
  workspaces: Workspaces,
  tokens: Tokens,
  doors: Doors,
  people: People,
  members: Members,
  sessions: Sessions,
  identities: Identities,
  projects: Projects,
  templates: Templates,
  templateVersions: TemplateVersions,
  upgrades: Upgrades,
  joinPages: JoinPages,
  joinSubmissions: JoinSubmissions,
  joinIdentities: JoinIdentities,
  images: Images,
  passes: Passes,
  ...walletRepositories,
  deviceLists: DeviceLists,
  rejections: Rejections,
  notifications: Notifications,
  broadcasts: Broadcasts,
  broadcastClasses: BroadcastClasses,
  webhooks: Webhooks,
  deliveries: Deliveries,
  jobs: Jobs,
  backlog: Backlog,
  overviews: Overviews,
  counts: Counts,
  figures: Figures,
  events: Events,
  eventLog: EventLog,
  identifiers: Identifiers,
  scans: Scans,
  scanStats: ScanStats,
  replays: Replays,
  acceptedScans: AcceptedScans,
  balanceEntries: BalanceEntries,
  zones: Zones,
  movements: Movements,
  occupancies: Occupancies,
  formerPasses: FormerPasses,
  importedPasses: ImportedPasses,
  handOver: HandOver,
  moves: Moves,
  heldPasses: HeldPasses,
  wallets: Wallets,
  deviceLogs: DeviceLogs,
  nudges: Nudges,
  groups: Groups,
  snapshots: Snapshots,
  snapshotEntries: SnapshotEntries,
  auditLog: AuditLog,
  erasure: Erasure,
  retention: Retention,
  chains: Chains,
  chainHeads: ChainHeads,
  chainReader: ChainReader,
  leases: Leases,
  instances: Instances,
  limits: Limits,
  usage: Usage,
}

/** One repository per resource, all on the same connection or transaction. */
export type Repositories = { [Name in keyof typeof repositories]: InstanceType<(typeof repositories)[Name]> }

/** The entry point to storage. Reads go through the store itself; writes need a transaction. */
export interface Store extends Repositories, Pick<Database, 'passesPerTurn'> {
  /** Whether every write is rejected (see `frozen`). */
  isFrozen: boolean
  /** Runs `work` in one transaction, which commits all writes or none. `work` must await nothing except SQL. */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /** Like `transaction`, for work that is a single statement. It takes a third of the round trips of a transaction. */
  statement<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /**
   * Returns a store for the requests of a party (a workspace or `PUBLIC`). The party has a limited share of the
   * connections, and each statement outside a transaction has a time limit.
   */
  forRequests(party: string, options?: RequestStoreOptions): Store
  /**
   * Returns a store for work that a request without a token does for one workspace, such as the registration of a
   * phone. The work uses the workspace's share of the connections. Otherwise, the phones of one workspace could use up
   * the share of `PUBLIC`. The work waits in a separate queue from the requests of the workspace.
   */
  forVisits(workspaceId: string): Store
  /**
   * Returns a store for jobs of a workspace, or for claiming jobs of a queue. Neither statements nor the wait for their
   * turn have a time limit.
   */
  forJobs(party: string): Store
}

export interface RequestStoreOptions {
  /** Whether the request is a large write, such as a batch. Other requests take precedence over it. */
  isLarge?: boolean
  /** The projects that the request can access. Everything else in the workspace is hidden. */
  scope?: ProjectScope
}

/** The party of requests without a token: people who open links, and phones. */
export const PUBLIC = 'public'

/** The maximum number of stores that are cached per party, each for one set of projects. Re-creating one is cheap. */
const MAX_SCOPES = 1_000

/** Returns a store for operators and maintenance. It reads tokens and sessions over a separate connection. */
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
    forVisits: (workspaceId: string) => on(database.forVisits(workspaceId)),
    forJobs: (party: string) => on(database.forJobs(party)),
  }
  const entry = { db: database.entry }
  return {
    ...storeOn(database, database, listener),
    tokens: new Tokens(entry),
    sessions: new Sessions(entry),
    ...parties,
  }
}

/** Returns a store for a server whose database is being copied. Every write throws ApiError SERVICE_UNAVAILABLE. */
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
    forVisits: (workspaceId) => frozen(store.forVisits(workspaceId)),
    forJobs: (party) => frozen(store.forJobs(party)),
  }
}

function storeOn(
  { reader, writer }: Connections,
  { findDamage, passesPerTurn }: Pick<Database, 'findDamage' | 'passesPerTurn'>,
  listener: StoreListener,
  scope?: ProjectScope,
): Omit<Store, 'forRequests' | 'forVisits' | 'forJobs'> {
  const onReader = { db: reader, scope }
  const reads = Object.fromEntries(
    Object.entries(repositories).map(([name, Repository]) => [name, new Repository(onReader)]),
  ) as unknown as Repositories

  /** Runs a write, then notifies the listener of the jobs and events that it committed. */
  async function write<T>(run: (collect: Required<StoreListener>) => Promise<T>): Promise<T> {
    const due = new Set<DuePlace>()
    const events: StoreEvent[] = []
    const result = await run({ onDue: (place) => due.add(place), onEvent: (one) => events.push(one) })
    for (const place of due) listener.onDue?.(place)
    for (const one of events) listener.onEvent?.(one)
    return result
  }

  return {
    ...reads,
    passesPerTurn,
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

class LazyRepositories {
  readonly connected: Connected

  constructor(connected: Connected) {
    this.connected = connected
  }
}

for (const [name, Repository] of Object.entries(repositories)) {
  Object.defineProperty(LazyRepositories.prototype, name, {
    get(this: LazyRepositories) {
      const value = new Repository(this.connected)
      Object.defineProperty(this, name, { value })
      return value
    },
  })
}

const createLazily = (connected: Connected) => new LazyRepositories(connected) as unknown as Repositories
