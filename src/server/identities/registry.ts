import type { Platform } from '../../core/contract/platform.ts'
import { ApiError } from '../../core/errors.ts'
import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { Store } from '../../storage/store.ts'
import type { IdentityIds, StoredIdentity } from '../../storage/workspaces/identities.ts'
import type { AppleIdentity } from '../../wallets/apple/identity.ts'
import type { ApplePush, RenewablePush } from '../../wallets/apple/push.ts'
import type { AppleWallet } from '../../wallets/apple/wallet.ts'
import type { GoogleApi } from '../../wallets/google/api/api.ts'
import type { CallbackVerifier } from '../../wallets/google/callbacks.ts'
import type { GoogleSigner } from '../../wallets/google/identity.ts'
import type { GoogleWallet } from '../../wallets/google/wallet.ts'
import type { Wallet } from '../../wallets/wallet.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import type { Logger } from '../log.ts'
import { openApple, openGoogle } from './secrets.ts'

/** What an identity of Apple does for its passes, each with a connection of its own. */
export interface AppleSide {
  wallet: AppleWallet
  push: ApplePush | undefined
}

/** What an identity of Google does for its passes, each with requests paced by themselves. */
export interface GoogleSide {
  wallet: GoogleWallet
  api: GoogleApi
  /** Of the server itself there is one elsewhere. */
  callbacks?: CallbackVerifier | undefined
}

/** Of a platform that this process does not issue for there is none. */
type Side<T> = T | undefined

/**
 * Who signs, pushes and writes for a pass: the identities that it was made under, null being that of the server. Each is opened when
 * a pass first needs it, and follows its row of the database within seconds. One that cannot be used fails its own passes alone.
 */
export interface Identities {
  /** @throws ApiError APPLE_SIGNING_FAILED */
  apple(id: string | null): Promise<Side<AppleSide>>
  /** @throws ApiError GOOGLE_JWT_FAILED */
  google(id: string | null): Promise<Side<GoogleSide>>
  /** What a pass is rendered by, for each platform that this process issues for. @throws as the two */
  walletsOf(pass: IdentityIds): Promise<Wallets>
  /** Those that passes of a pass type may be of; none where it is nobody's here. */
  ofPassType(passTypeIdentifier: string): Promise<(string | null)[]>
  /** The same for the number of an issuer. */
  ofIssuer(issuerId: string): Promise<(string | null)[]>
  /** Those of the database, as this process knows them. */
  list(): StoredIdentity[]
  /** Looks at the database now, as happens by itself every 5 seconds. */
  refresh(): Promise<void>
  close(): Promise<void>
}

/** How the identities of the database reach their platforms, which tests replace. */
export interface IdentityConnections {
  openPush(of: { name: string; isSandbox: boolean; identity: AppleIdentity }): RenewablePush
  openGoogle(of: { name: string; isSandbox: boolean; signer: GoogleSigner }): Promise<Omit<GoogleSide, 'wallet'>>
}

/** Of a process that reaches no platform for identities of the database, as in tests of other things. */
export const unconnected: IdentityConnections = {
  openPush() {
    throw new Error('No APNs is there')
  },
  async openGoogle() {
    throw new Error('No Google is there')
  },
}

/** What the registry is made with. */
export interface IdentitiesOptions {
  store: Store
  keys: ServerKeys
  /** The identity `server`, by flags; read anew each time, since its parts may be replaced. */
  server: () => { apple?: AppleSide | undefined; google?: GoogleSide | undefined }
  /** Those of the server itself. */
  wallets: Wallets
  makeWallets: {
    apple: (identity: AppleIdentity) => AppleWallet
    google: (signer: GoogleSigner) => GoogleWallet
  }
  connections: IdentityConnections
  /** Told once an identity was changed, and is used as it now is. */
  onChanged: (identity: StoredIdentity) => void
  log: Pick<Logger, 'info' | 'error'>
}

/** Well within the 10 seconds in which a change is to reach each process. */
const REFRESH_MS = 5_000

/** Strangers may ask for pass types that nobody has: the database is asked so often at most. */
const LOOK_AGAIN_MS = 1_000

interface Opened {
  apple?: Promise<AppleSide & { push: RenewablePush }>
  google?: Promise<GoogleSide>
}

/** Keeps who signs and writes for passes, by identity: see Identities. */
export function createIdentities(options: IdentitiesOptions): Identities {
  const { store, keys, server, wallets, makeWallets, connections, onChanged, log } = options
  const known = new Map<string, StoredIdentity>()
  const opened = new Map<string, Opened>()
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  const timer = setInterval(() => refresh().catch(tell), REFRESH_MS)
  timer.unref()

  const tell = (err: unknown) => log.error({ err }, 'identities could not be read; those that are known go on')

  function refresh(): Promise<void> {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }

  async function look(): Promise<void> {
    const versions = await store.identities.versions()
    lookedAt = performance.now()
    const changed = [...versions].filter(([id, version]) => known.get(id)?.version !== version).map(([id]) => id)
    for (const stored of await store.identities.listByIds(changed)) {
      const isNew = !known.has(stored.id)
      known.set(stored.id, stored)
      if (!isNew) await follow(stored).catch((error: unknown) => tellRefused(stored, error))
    }
  }

  /** What is open signs and writes as the row now says; what is on its way ends as it began. */
  async function follow(stored: StoredIdentity): Promise<void> {
    const open = opened.get(stored.id)
    if (open?.apple) {
      const { wallet, push } = await open.apple
      const identity = openApple(stored, keys)
      push.renew(identity)
      wallet.renew(identity)
    }
    if (open?.google) {
      const before = open.google
      const next = openGoogleSide(stored)
      await next
      if (open.google === before) open.google = next
    }
    onChanged(stored)
    log.info({ identity: stored.name, status: stored.status }, 'an identity changed')
  }

  function tellRefused({ name }: StoredIdentity, err: unknown): void {
    log.error({ err, identity: name }, 'a changed identity cannot be used: what it was before goes on')
  }

  async function find(id: string): Promise<StoredIdentity> {
    if (!known.has(id)) await refresh()
    const stored = known.get(id)
    if (stored) return stored
    throw new Error(`There is no identity ${id}`)
  }

  async function openAppleSide(stored: StoredIdentity) {
    const { name, isSandbox } = stored
    const identity = openApple(stored, keys)
    return { wallet: makeWallets.apple(identity), push: connections.openPush({ name, isSandbox, identity }) }
  }

  async function openGoogleSide(stored: StoredIdentity): Promise<GoogleSide> {
    const { name, isSandbox } = stored
    const signer = await openGoogle(stored, keys)
    return { wallet: makeWallets.google(signer), ...(await connections.openGoogle({ name, isSandbox, signer })) }
  }

  /** Opened once; where that fails the next pass tries again. */
  async function open<K extends keyof Opened>(
    kind: K,
    id: string,
    make: (stored: StoredIdentity) => NonNullable<Opened[K]>,
  ): Promise<Awaited<NonNullable<Opened[K]>>> {
    const there = opened.get(id)?.[kind]
    if (there) return (await there) as Awaited<NonNullable<Opened[K]>>
    const stored = await find(id)
    const entry = opened.get(id) ?? {}
    opened.set(id, entry)
    entry[kind] ??= make(stored)
    const made = entry[kind]
    try {
      return (await made) as Awaited<NonNullable<Opened[K]>>
    } catch (error) {
      if (entry[kind] === made) delete entry[kind]
      throw error
    }
  }

  function unusable(code: 'APPLE_SIGNING_FAILED' | 'GOOGLE_JWT_FAILED', id: string, cause: unknown): never {
    const name = known.get(id)?.name ?? id
    log.error({ err: cause, identity: name }, 'an identity cannot be used')
    throw new ApiError(code, { message: `The identity ${name} cannot be used; the operator has to mend it.`, cause })
  }

  const apple = async (id: string | null): Promise<Side<AppleSide>> => {
    const own = server().apple
    if (!own || id === null) return own
    return open('apple', id, openAppleSide).catch((cause: unknown) => unusable('APPLE_SIGNING_FAILED', id, cause))
  }
  const google = async (id: string | null): Promise<Side<GoogleSide>> => {
    const own = server().google
    if (!own || id === null) return own
    return open('google', id, openGoogleSide).catch((cause: unknown) => unusable('GOOGLE_JWT_FAILED', id, cause))
  }

  const sides: Partial<Record<Platform, (id: string) => Promise<Side<{ wallet: Wallet }>>>> = { apple, google }

  async function idsOf(isIt: (stored: StoredIdentity) => boolean, isServers: boolean): Promise<(string | null)[]> {
    const among = () => [...known.values()].filter(isIt).map(({ id }) => id)
    if (among().length === 0 && !isServers && performance.now() - lookedAt > LOOK_AGAIN_MS) await refresh()
    return [...(isServers ? [null] : []), ...among()]
  }

  return {
    apple,
    google,
    async walletsOf(pass) {
      const idOf = (platform: Platform) => pass[`${platform}IdentityId`]
      if (wallets.all.every(({ platform }) => idOf(platform) === null)) return wallets
      const found: Wallets = { all: [], sandboxed: [] }
      for (const own of wallets.all) {
        const { platform } = own
        const id = idOf(platform)
        const wallet = id === null ? own : ((await sides[platform]?.(id))?.wallet ?? own)
        found.all.push(wallet)
        Object.assign(found, { [platform]: wallet })
        if (id === null ? wallets.sandboxed.includes(platform) : known.get(id)?.isSandbox)
          found.sandboxed.push(platform)
      }
      return found
    },
    ofPassType: (type) =>
      idsOf(
        ({ passTypeIdentifier }) => passTypeIdentifier === type,
        server().apple?.wallet.passTypeIdentifier === type,
      ),
    ofIssuer: (issuer) => idsOf(({ issuerId }) => issuerId === issuer, server().google?.wallet.issuerId === issuer),
    list: () => [...known.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    refresh,
    async close() {
      clearInterval(timer)
      await looking?.catch(() => undefined)
      const pushes = [...opened.values()].flatMap(({ apple: side }) => side ?? [])
      await Promise.all(pushes.map((side) => side.then(({ push }) => push.close()).catch(() => undefined)))
    },
  }
}
