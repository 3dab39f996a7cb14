import type { Repositories, Store } from '../storage/store.ts'
import type { TokenWithWorkspace } from '../storage/workspaces/tokens.ts'
import type { ApplePush } from '../wallets/apple/push.ts'
import type { Wallets } from '../wallets/wallets.ts'
import type { Sightings } from './api/doors/sightings.ts'
import type { TakeQueue } from './api/limits.ts'
import type { DoorLists } from './api/scans/door-lists.ts'
import type { RetentionDays } from './config.ts'
import type { SigningKeys } from './evidence/signing-keys.ts'
import type { InFlight } from './http/middleware/in-flight.ts'
import type { Thread } from './http/thread.ts'
import type { Breakers } from './identities/breakers.ts'
import type { Identities } from './identities/registry.ts'
import type { Images } from './images/images.ts'
import type { Links } from './links.ts'
import type { Logger } from './log.ts'
import type { Drops } from './metrics/drops.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Badges } from './pages/badges.ts'
import type { Openings } from './pages/openings.ts'
import type { Definitions } from './wallet-sync/definitions.ts'
import type { GoogleSync } from './wallet-sync/google-sync.ts'
import type { Issuing } from './wallet-sync/issuing.ts'
import type { Packages } from './wallet-sync/packages.ts'
import type { Outbound } from './webhooks/outbound.ts'
import type { WakeUps } from './webhooks/wake-ups.ts'
import type { WebhookSecrets } from './webhooks/webhook-secrets.ts'

/** What every part of the server works with. */
export interface Services {
  store: Store
  /** Those of the server itself: what is the same for all identities, and passes of no other one. */
  wallets: Wallets
  /** Who signs, pushes and writes for passes. */
  identities: Identities
  /** Whose work waits, since a platform does not answer it. */
  breakers: Breakers
  links: Links
  /** Buttons of hosted pages that the operator brought. */
  badges: Badges
  issuing: Issuing
  definitions: Definitions
  images: Images
  /** Packages for Apple Wallet; absent where apple is not configured. */
  packages?: Packages
  /** Whose turn it is at the one thread. */
  thread: Thread
  /** Apple push of the server itself; absent where apple is not configured. Passes are pushed by `pushTo`. */
  push?: ApplePush
  /** What is kept at Google; absent where google is not configured. */
  google?: GoogleSync
  webhookSecrets: WebhookSecrets
  /** What heads of chains are signed with. */
  signingKeys: SigningKeys
  /** Registrations that ended because their devices are gone. */
  drops: Drops
  wakeUps: WakeUps
  sightings: Sightings
  openings: Openings
  doorLists: DoorLists
  takeQueue: TakeQueue
  /** Sends to addresses that customers name. */
  outbound: Outbound
  retention: RetentionDays
  /** Aborted when the server stops: what is in flight finishes, nothing more begins. */
  stopping: AbortSignal
  /** The time, injected so that tests can set it. */
  clock: () => Date
  /** Whether the clock differs so much from the database's that nothing may go by it (metrics/database-watch.ts). */
  isClockOff: () => boolean
  log: Logger
  /** What this process counts. */
  metrics: Metrics
}

/** What work in the background needs at the least. */
export type JobServices = Pick<Services, 'store' | 'clock' | 'log'>

/** What work needs that may last: it ends between two transactions when the server stops. */
export type LongJobServices = Pick<Services, 'store' | 'clock' | 'stopping'>

/** The services without their store: a request works with its own, which is bounded and limited to the token's projects. */
export type SharedServices = Omit<Services, 'store'>

/** The context of a handler: the caller, the time, and the services. */
export interface RequestContext {
  services: SharedServices
  store: Store
  workspaceId: string
  token: TokenWithWorkspace
  correlationId: string
  /** The time of the request. Everything that it writes carries it. */
  now: Date
  headers: Headers
  /** The work of each workspace that this process has in flight. */
  inFlight: InFlight
  /** Seals a cursor inside an encoded body. The cursors of other bodies are sealed when the response is written. */
  sealCursor: (cursor: string) => string
}

/** The context of a handler whose endpoint needs no token. */
export type PublicContext = Pick<RequestContext, 'services' | 'store' | 'correlationId' | 'now' | 'headers'>

export type { Repositories }
