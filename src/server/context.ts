import type { Repositories, Store } from '../storage/store.ts'
import type { TokenWithWorkspace } from '../storage/workspaces/tokens-repository.ts'
import type { ApplePush } from '../wallets/apple/push.ts'
import type { Wallets } from '../wallets/wallets.ts'
import type { EventLoopScheduler } from './admission/event-loop-scheduler.ts'
import type { InFlight } from './admission/in-flight.ts'
import type { DoorActivity } from './api/doors/door-activity.ts'
import type { TakeQueue } from './api/limit-checks.ts'
import type { DoorLists } from './api/scans/door-lists.ts'
import type { RetentionDays } from './config.ts'
import type { SigningKeys } from './evidence/signing-keys.ts'
import type { Breakers } from './identities/breakers.ts'
import type { Identities } from './identities/registry.ts'
import type { Images } from './images/images.ts'
import type { FormTokens } from './join/form-tokens.ts'
import type { Links } from './link-signing.ts'
import type { Logger } from './log.ts'
import type { Mailer } from './mail/mailer.ts'
import type { DroppedRegistrations, Metrics } from './metrics/metrics.ts'
import type { Badges } from './pages/badges.ts'
import type { LinkOpens } from './pages/link-opens.ts'
import type { Definitions } from './wallet-sync/definitions.ts'
import type { GoogleSync } from './wallet-sync/google-sync.ts'
import type { Issuing } from './wallet-sync/issuing.ts'
import type { Packages } from './wallet-sync/package-cache.ts'
import type { Outbound } from './webhooks/outbound.ts'
import type { WakeUps } from './webhooks/wake-ups.ts'
import type { WebhookSecrets } from './webhooks/webhook-secrets.ts'

/** The services that all parts of the server share. */
export interface Services {
  store: Store
  /** The wallets with the server's own identities. Use them only for settings that all identities share. */
  wallets: Wallets
  identities: Identities
  /** The breakers, which pause identities whose platform does not respond. */
  breakers: Breakers
  links: Links
  badges: Badges
  issuing: Issuing
  definitions: Definitions
  images: Images
  /** The builder of Apple Wallet packages; undefined if apple is not configured. */
  packages?: Packages
  eventLoop: EventLoopScheduler
  /**
   * The Apple push of the server's own identity; undefined if apple is not configured. To push to the phones of a pass,
   * use `pushTo`, because the pass can have another identity.
   */
  push?: ApplePush
  /** `undefined` if google is not configured. */
  google?: GoogleSync
  webhookSecrets: WebhookSecrets
  signingKeys: SigningKeys
  /** Counts and logs device registrations that are deleted because Apple rejects their push tokens. */
  droppedRegistrations: DroppedRegistrations
  wakeUps: WakeUps
  doorActivity: DoorActivity
  linkOpens: LinkOpens
  /** Creates and verifies the tokens in join-page forms. */
  formTokens: FormTokens
  /** `undefined` without --smtp-url. */
  mail?: Mailer
  doorLists: DoorLists
  takeQueue: TakeQueue
  /** The client for requests to addresses that customers configure. */
  outbound: Outbound
  retention: RetentionDays
  /** A signal that is aborted when the server stops. Work in flight then finishes, and no new work begins. */
  stopping: AbortSignal
  clock: () => Date
  /** Whether the server's clock differs too much from the database's clock (metrics/database-watch.ts). */
  isClockOff: () => boolean
  log: Logger
  metrics: Metrics
}

export type JobServices = Pick<Services, 'store' | 'clock' | 'log'>

/** The services of long jobs. If the server stops, a long job ends after its current transaction. */
export type LongJobServices = Pick<Services, 'store' | 'clock' | 'stopping' | 'eventLoop'>

/** The services without the store. Each request has its own store, which is limited to the projects of its token. */
export type SharedServices = Omit<Services, 'store'>

export interface RequestContext {
  services: SharedServices
  store: Store
  workspaceId: string
  token: TokenWithWorkspace
  correlationId: string
  /** The time of the request, which all writes of the request use. */
  now: Date
  headers: Headers
  inFlight: InFlight
  /** Seals a cursor, for a handler that encodes its own body. Cursors in other bodies are sealed automatically. */
  sealCursor: (cursor: string) => string
}

export type PublicContext = Pick<RequestContext, 'services' | 'store' | 'correlationId' | 'now' | 'headers'>

export type { Repositories }
