import type { ServerKeys } from '../../core/rules/crypto/server-key.ts'
import type { AppleIdentity } from '../../wallets/apple/apple-identity.ts'
import type { AppleWallet } from '../../wallets/apple/apple-wallet.ts'
import type { RenewablePush } from '../../wallets/apple/push.ts'
import type { GoogleSigner } from '../../wallets/google/google-identity.ts'
import type { GoogleWallet } from '../../wallets/google/google-wallet.ts'
import type { Sides } from '../../wallets/wallets.ts'
import type { SideOpeners } from './registry.ts'
import { openApple, openGoogle } from './secrets.ts'

/** Connects identities of the database to their platforms. Tests replace it. */
export interface IdentityConnections {
  openPush(of: { name: string; isSandbox: boolean; identity: AppleIdentity }): RenewablePush
  openGoogle(of: { name: string; isSandbox: boolean; signer: GoogleSigner }): Promise<Omit<Sides['google'], 'wallet'>>
}

/** The connections of a process that reaches no platform for identities of the database, such as a test. */
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

/** Opens identities with their unsealed keys. A certificate is replaced in place, and open connections continue with it. */
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
