import type { H3, H3Event, HTTPResponse } from 'h3'
import { ApiError } from '../../core/errors.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { Card } from '../../core/rules/display/card.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import type { Repositories } from '../../storage/store.ts'
import type { StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import type { LoadImageFiles, Wallet, WalletPass } from '../../wallets/wallet.ts'
import type { Config } from '../config.ts'
import type { Services } from '../context.ts'
import type { PhoneLimits } from '../inbound/apple-service.ts'
import type { JobHandler, OnDiscard } from '../jobs/worker.ts'
import { type Issuing, renderOr } from '../wallet-sync/issuing.ts'

/** The work of the server for the passes of one platform, except rendering, which `Wallet` does. */
export interface Delivery {
  /**
   * Adds the routes that phones and the platform call.
   * @param prefixes further paths, for passes that other providers issued
   */
  mount?(app: H3, services: Services, limits: PhoneLimits, prefixes: readonly string[]): void
  /**
   * Responds to a visitor of the hosted link with a file or a redirect that adds the pass to the wallet.
   * @throws ApiError LINK_INVALID if the platform is not configured; LINK_REVOKED, PROVIDER_UNAVAILABLE
   */
  open(pass: StoredPass, request: Request, services: Services, at: Date): Promise<Response | HTTPResponse>
  /** Adds several passes of a group in one step. If omitted, visitors can add a pass only on its own page. */
  together?: Together
  /** Job `update-*`: sends the current version of passes to the wallets that hold them. */
  update: JobHandler
  /** Job `expire-*`: ends the passes of former holders in their wallets. */
  expire: JobHandler
  /** Job `message-*`: sends the texts of notifications. Omitted if the updated pass shows the texts. */
  message?: JobHandler
  /** Records on the notification that its message was discarded. */
  failMessage?: OnDiscard
  /**
   * Marks the pass as ended in the wallets of its former holder. Returns whether a wallet has the pass. Call it in the
   * transaction of the transfer, which locks the pass.
   * @param pass the pass before the transfer, with the card that it showed
   */
  end(tx: Repositories, pass: StoredPass, card: Card, at: Date): Promise<boolean>
}

/** Adds several passes of a group to the wallet in one step. */
export interface Together {
  /** The name of a query parameter of the link. Its value is the ID of the first pass. */
  parameter: string
  /** The maximum number of passes. */
  most: number
  /** Responds with a file or redirect that adds as many of the passes as possible. @throws errors of `Delivery.open` */
  open(passes: StoredPass[], visit: GroupVisit, services: Services, at: Date): Promise<Response | HTTPResponse>
  /** Returns how many of the passes, from the first on, fit into one step; 0 if the platform is not configured. */
  countFitting(passes: { pass: StoredPass; card: Card }[], services: Services): Promise<number>
}

export interface GroupVisit {
  event: H3Event
  pageUrl: string
  /** Counts `cost` more requests toward the limit of the client address. A bundle counts as one request per package. */
  limitAddress: (event: H3Event, cost: number) => void
}

/** The options of wallets, whose images and callbacks use the public URL. */
export interface WalletOptions {
  publicUrl: string
  loadImageFiles: LoadImageFiles
}

export interface PlatformSetup<Identity> {
  /** Whether credentials are configured. Without credentials, the platform runs in the sandbox. */
  hasCredentials(config: Config): boolean
  /** Reads the credentials, or creates those of the sandbox, and checks them. @throws CredentialError */
  load(config: Config, isSandboxed: boolean, at: Date): Promise<Identity>
  createWallet(identity: Identity, options: WalletOptions): Wallet
  /** The text in which doctor explains what the sandbox means for passes. */
  inSandbox: string
  /** The flags with which `identity renew` takes new credentials. */
  renewFlags: string
  /** Opens and checks the credentials of an identity in the database. @throws CredentialError, SealError */
  describe(stored: StoredIdentity, keys: ServerKeys, at: Date): Promise<{ account: string; endsAt?: Date }>
}

export function render(pass: StoredPass, issuing: Issuing, language?: string): Promise<WalletPass> {
  return renderOr(() => issuing.render(pass, language), toFailedLink)
}

/** Returns the error for a link whose pass cannot be rendered. */
export function toFailedLink({ message }: ApiError): ApiError {
  return new ApiError('LINK_REVOKED', { message, details: { reason: 'failed' } })
}

/** Returns the error for a link of a platform that is no longer configured. */
export function notConfigured(): ApiError {
  return new ApiError('LINK_INVALID', {
    message: 'This server no longer issues passes for this platform.',
    details: { reason: 'platform' },
  })
}
