import { type Platform, platformFacts } from '../../core/contract/schemas/platform.ts'
import { ApiError } from '../../core/errors.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { Store } from '../../storage/store.ts'
import { accountOf, type IdentityIds, type StoredIdentity } from '../../storage/workspaces/identities-repository.ts'
import type { AppleIdentity } from '../../wallets/apple/apple-identity.ts'
import type { AppleWallet } from '../../wallets/apple/apple-wallet.ts'
import type { RenewablePush } from '../../wallets/apple/push.ts'
import type { GoogleSigner } from '../../wallets/google/google-identity.ts'
import type { GoogleWallet } from '../../wallets/google/google-wallet.ts'
import type { Side, Sides, Wallets } from '../../wallets/wallets.ts'
import type { Logger } from '../log.ts'
import { openApple, openGoogle } from './credentials.ts'

export type Identities = ReturnType<typeof createIdentities>

/**
 * The functions that open identities of the database, by platform. `before` is the same identity as opened earlier: an
 * opener can renew and return it, so that its connections stay open. A platform without an opener has only the identity
 * of the server.
 */
export type SideOpeners = { [P in Platform]?: (stored: StoredIdentity, before?: Sides[P]) => Promise<Sides[P]> }

type Opener = (stored: StoredIdentity, before?: Side) => Promise<Side>

export interface IdentitiesOptions {
  store: Store
  /**
   * Returns the server's own identity, which the flags name. Call it for each use, because its credentials can change.
   */
  server: () => Partial<Sides>
  wallets: Wallets
  openers: SideOpeners
  /** Called after an identity has changed and its new secrets are in use. */
  onChanged: (identity: StoredIdentity) => void
  log: Pick<Logger, 'info' | 'error'>
}

/** The interval of reads from the database. It is short, because a change must reach each process within 10 seconds. */
const REFRESH_MS = 5_000

/** The minimum interval between reads that unknown pass types cause. Any client can send an unknown pass type. */
const MIN_REFRESH_MS = 1_000

/**
 * Creates the registry of identities, which sign passes and push to phones. The ID of the server's own identity is
 * null. Identities are opened on demand, and changes of their rows are loaded within seconds. An unusable identity
 * affects only its own passes.
 */
export function createIdentities(options: IdentitiesOptions) {
  const { store, server, wallets, openers, onChanged, log } = options
  const known = new Map<string, StoredIdentity>()
  const opened = new Map<string, Promise<Side>>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  const timer = setInterval(() => refresh().catch(logUnreadable), REFRESH_MS)
  timer.unref()

  const logUnreadable = (err: unknown) => log.error({ err }, 'could not read identities; known ones stay in use')

  function refresh(): Promise<void> {
    reading ??= readIdentities().finally(() => {
      reading = undefined
    })
    return reading
  }

  async function readIdentities(): Promise<void> {
    const versions = await store.identities.versions()
    readAt = performance.now()
    const changed = [...versions].filter(([id, version]) => known.get(id)?.version !== version).map(([id]) => id)
    for (const stored of await store.identities.listByIds(changed)) {
      const isNew = !known.has(stored.id)
      known.set(stored.id, stored)
      if (!isNew) await follow(stored).catch((error: unknown) => logRejected(stored, error))
    }
  }

  /** Makes the open connections of an identity use its changed row. Calls in flight finish with the old keys. */
  async function follow(stored: StoredIdentity): Promise<void> {
    const before = opened.get(stored.id)
    if (before) {
      const next = openerOf(stored.platform)(stored, await before)
      await next
      if (opened.get(stored.id) === before) opened.set(stored.id, next)
    }
    onChanged(stored)
    log.info({ identity: stored.name, status: stored.status }, 'an identity changed')
  }

  function logRejected({ name }: StoredIdentity, err: unknown): void {
    log.error({ err, identity: name }, 'a changed identity is not usable: its previous state stays in use')
  }

  async function find(id: string): Promise<StoredIdentity> {
    if (!known.has(id)) await refresh()
    const stored = known.get(id)
    if (stored) return stored
    throw new Error(`There is no identity ${id}`)
  }

  const openerOf = (platform: Platform) => openers[platform] as Opener

  /** Opens an identity once for all callers. After a failure, the next call tries again. */
  async function open(platform: Platform, id: string): Promise<Side> {
    const stored = opened.has(id) ? undefined : await find(id)
    const side = opened.get(id) ?? openerOf(platform)(stored!)
    opened.set(id, side)
    try {
      return await side
    } catch (cause) {
      if (opened.get(id) === side) opened.delete(id)
      throw cause
    }
  }

  /**
   * Returns an identity, and opens it if needed; undefined for a platform for which this process does not issue.
   * @throws ApiError with the `signingError` of the platform if the identity is not usable
   */
  async function of<P extends Platform>(platform: P, id: string | null): Promise<Sides[P] | undefined> {
    const own = server()[platform]
    if (!own || id === null) return own
    try {
      return (await open(platform, id)) as Sides[P]
    } catch (cause) {
      const name = known.get(id)?.name ?? id
      log.error({ err: cause, identity: name }, 'an identity cannot be used')
      const message = `Identity ${name} is not usable. Ask the operator to fix it.`
      throw new ApiError(platformFacts[platform].signingError, { message, cause })
    }
  }

  async function idsOf(isIt: (stored: StoredIdentity) => boolean, isServers: boolean): Promise<(string | null)[]> {
    const among = () => [...known.values()].filter(isIt).map(({ id }) => id)
    if (among().length === 0 && !isServers && performance.now() - readAt > MIN_REFRESH_MS) await refresh()
    return [...(isServers ? [null] : []), ...among()]
  }

  return {
    of,
    /** Returns the wallets of a pass, for each platform for which this process issues. @throws the errors of `of` */
    async walletsOf(pass: IdentityIds): Promise<Wallets> {
      const idOf = (platform: Platform) => pass[`${platform}IdentityId`]
      if (wallets.all.every(({ platform }) => idOf(platform) === null)) return wallets
      const found: Wallets = { all: [], sandboxed: [] }
      for (const own of wallets.all) {
        const { platform } = own
        const id = idOf(platform)
        const wallet = id === null ? own : ((await of(platform, id))?.wallet ?? own)
        found.all.push(wallet)
        Object.assign(found, { [platform]: wallet })
        if (id === null ? wallets.sandboxed.includes(platform) : known.get(id)?.isSandbox)
          found.sandboxed.push(platform)
      }
      return found
    },
    /** Returns the IDs of the identities of an account, such as a pass type; empty for an account of another server. */
    ofAccount: (platform: Platform, account: string) =>
      idsOf(
        (stored) => stored.platform === platform && accountOf(stored) === account,
        server()[platform]?.wallet.account === account,
      ),
    list: () => [...known.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    /** Reads changed identities from the database now. A timer also does this every 5 seconds. */
    refresh,
    async close(): Promise<void> {
      clearInterval(timer)
      await reading?.catch(() => undefined)
      await Promise.all([...opened.values()].map((side) => side.then(({ close }) => close?.()).catch(() => undefined)))
    },
  }
}

/** The functions that connect identities of the database to their platforms. Tests replace them. */
export interface IdentityConnections {
  openPush(of: { name: string; isSandbox: boolean; identity: AppleIdentity }): RenewablePush
  openGoogle(of: { name: string; isSandbox: boolean; signer: GoogleSigner }): Promise<Omit<Sides['google'], 'wallet'>>
}

/** The connections of a process, such as a test, that connects no identity of the database to its platform. */
export const unconnected: IdentityConnections = {
  openPush() {
    throw new Error('APNs is not connected')
  },
  async openGoogle() {
    throw new Error('Google is not connected')
  },
}

export interface OpenersOptions {
  keys: ServerKeys
  connections: IdentityConnections
  createWallets: { apple(identity: AppleIdentity): AppleWallet; google(identity: GoogleSigner): GoogleWallet }
}

/**
 * Creates the openers. If an Apple identity gets another certificate, its connections stay open and use the new
 * certificate.
 */
export function createOpeners({ keys, connections, createWallets }: OpenersOptions): SideOpeners {
  return {
    async apple(stored, before) {
      const { name, isSandbox } = stored
      const identity = openApple(stored, keys)
      if (!before) {
        const push = connections.openPush({ name, isSandbox, identity })
        return { wallet: createWallets.apple(identity), push, close: () => push.close() }
      }
      before.push?.renew?.(identity)
      before.wallet.renew(identity)
      return before
    },
    async google(stored) {
      const { name, isSandbox } = stored
      const signer = await openGoogle(stored, keys)
      return {
        wallet: createWallets.google(signer),
        ...(await connections.openGoogle({ name, isSandbox, signer })),
      }
    },
  }
}
