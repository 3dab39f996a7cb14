import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { IdentityIds } from '../../storage/workspaces/identities-repository.ts'
import type { ApplePush } from '../../wallets/apple/push.ts'
import { withAllowedLocations } from '../../wallets/google/api/google-api.ts'
import type { LoadImageFiles } from '../../wallets/wallet.ts'
import type { Sides, Wallets } from '../../wallets/wallets.ts'
import { createEventLoopScheduler } from '../admission/event-loop-scheduler.ts'
import { createDoorActivity } from '../api/doors/door-activity.ts'
import { createTakeQueue } from '../api/limit-checks.ts'
import { createDoorLists } from '../api/scans/door-lists.ts'
import type { Services } from '../context.ts'
import { createSigningKeys } from '../evidence/signing-keys.ts'
import { createBreakers } from '../identities/breakers.ts'
import { createIdentities, createOpeners, type IdentityConnections, unconnected } from '../identities/registry.ts'
import { createDecoder, createImages, type Decoder } from '../images/images.ts'
import { createFormTokens } from '../join/form-tokens.ts'
import { createLinks } from '../link-signing.ts'
import { createDroppedRegistrations } from '../metrics/metrics.ts'
import { type Badges, noBadges } from '../pages/badges.ts'
import { createLinkOpens } from '../pages/link-opens.ts'
import { setups } from '../platforms/deliveries.ts'
import { createDefinitions } from '../wallet-sync/definitions.ts'
import { createLocationRejections } from '../wallet-sync/google-records.ts'
import { createGoogleSync } from '../wallet-sync/google-sync.ts'
import { createIssuing } from '../wallet-sync/issuing.ts'
import { createPackages } from '../wallet-sync/package-cache.ts'
import { releaseHeld } from '../wallet-sync/platform-calls.ts'
import { createWakeUps } from '../webhooks/wake-ups.ts'
import { createWebhookSecrets } from '../webhooks/webhook-secrets.ts'

export interface ServicesOptions
  extends Pick<Services, 'store' | 'outbound' | 'retention' | 'stopping' | 'clock' | 'log' | 'metrics' | 'mail'> {
  keys: ServerKeys
  publicUrl: string
  linkTtlDays: number
  /** Whether the clock of this machine is wrong. Default: never. */
  isClockOff?: () => boolean
  /** If omitted, pages show text buttons. */
  badges?: Badges | undefined
  createWallets: (loadImageFiles: LoadImageFiles) => Wallets
  push?: ApplePush | undefined
  /** Default: none. */
  connections?: IdentityConnections
  google?: Omit<Sides['google'], 'wallet'> | undefined
  /** Default: a new one. */
  decoder?: Decoder
  /** Returns the fraction of the time since the last call in which the event loop was busy. Default: a measurement. */
  measureEventLoop?: () => number
}

export interface RunningServices extends Services {
  /** Stops timers, closes connections, and ends the process that decodes images. */
  close(): void
}

export function createServices(options: ServicesOptions): RunningServices {
  const {
    keys,
    publicUrl,
    linkTtlDays,
    createWallets,
    push,
    google: ownGoogle,
    connections = unconnected,
    decoder,
    badges = noBadges,
    isClockOff = () => false,
    measureEventLoop,
    ...given
  } = options
  const { store, clock, log, metrics } = given
  const images = createImages(store, decoder ?? createDecoder({ log }))
  const eventLoop = createEventLoopScheduler({ measure: measureEventLoop })
  const doorActivity = createDoorActivity({ store, log })
  const linkOpens = createLinkOpens({ store, log })
  const wallets = createWallets(images.loadFiles)
  const definitions = createDefinitions(store)
  const allowing = createLocationRejections(store, clock)
  const allowLocations = (side: Omit<Sides['google'], 'wallet'>) => ({
    ...side,
    api: withAllowedLocations(side.api, allowing),
  })
  const googleSide = wallets.google && ownGoogle && { wallet: wallets.google, ...allowLocations(ownGoogle) }
  const breakers = createBreakers({ nameOf, clock, log, metrics })
  const walletOptions = { publicUrl, loadImageFiles: images.loadFiles }
  const openers = createOpeners({
    keys,
    connections: { ...connections, openGoogle: async (of) => allowLocations(await connections.openGoogle(of)) },
    createWallets: {
      apple: (identity) => setups.apple.createWallet(identity, walletOptions),
      google: (identity) => setups.google.createWallet(identity, walletOptions),
    },
  })
  const identities = createIdentities({
    store,
    wallets,
    server: () => ({
      ...(wallets.apple && { apple: { wallet: wallets.apple, push } }),
      ...(googleSide && { google: googleSide }),
    }),
    openers,
    onChanged(identity) {
      if (!breakers.of(identity.platform, identity.id).renewed()) return
      releaseHeld(identity, { store, clock }).catch((err: unknown) =>
        log.warn(
          { err, identity: identity.name },
          'could not release the snoozed jobs of an identity: they run within a minute',
        ),
      )
    },
    log,
  })
  function nameOf(id: string): string {
    return identities.list().find((one) => one.id === id)?.name ?? id
  }
  const issuing = createIssuing(store, wallets, definitions, identities.walletsOf)
  const appleWalletOf = async ({ appleIdentityId }: IdentityIds) =>
    (await identities.of('apple', appleIdentityId))!.wallet
  const isOnlyPlatform = wallets.all.length === 1
  const google =
    googleSide &&
    createGoogleSync({
      ...googleSide,
      sideOf: async (id) => (await identities.of('google', id))!,
      store,
      issuing,
      definitions,
      isOnlyPlatform,
      clock,
    })
  const platforms = wallets.all.map(({ platform }) => platform)
  return {
    ...given,
    isClockOff,
    wallets,
    identities,
    breakers,
    links: createLinks({ keys, publicUrl, platforms, ttlDays: linkTtlDays }),
    badges,
    issuing,
    definitions,
    ...(wallets.apple && { packages: createPackages(appleWalletOf, issuing, { log: given.log }) }),
    images,
    eventLoop,
    ...(push && { push }),
    ...(google && { google }),
    droppedRegistrations: createDroppedRegistrations({ log, metrics }),
    wakeUps: createWakeUps(),
    doorActivity,
    linkOpens,
    formTokens: createFormTokens(keys),
    doorLists: createDoorLists(),
    takeQueue: createTakeQueue(),
    webhookSecrets: createWebhookSecrets(keys),
    signingKeys: createSigningKeys(keys),
    close() {
      void identities.close()
      doorActivity.close()
      linkOpens.close()
      images.close()
      eventLoop.close()
    },
  }
}
