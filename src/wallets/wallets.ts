import type { Platform } from '../core/contract/schemas/platform.ts'
import type { AppleWallet } from './apple/apple-wallet.ts'
import type { ApplePush, RenewablePush } from './apple/push.ts'
import type { GoogleApi } from './google/api/google-api.ts'
import type { CallbackVerifier } from './google/callbacks.ts'
import type { GoogleWallet } from './google/google-wallet.ts'
import type { Wallet } from './wallet.ts'

export interface Side {
  wallet: Wallet
  close?(): Promise<void>
}

interface ConnectedSides {
  apple: Side & { wallet: AppleWallet; push: (ApplePush & Partial<RenewablePush>) | undefined }
  /** The API of each identity has its own rate limit. */
  google: Side & { wallet: GoogleWallet; api: GoogleApi; callbacks: CallbackVerifier }
}

export type Sides = { [P in Platform]: P extends keyof ConnectedSides ? ConnectedSides[P] : Side }

export interface Wallets extends Partial<{ [P in Platform]: Sides[P]['wallet'] }> {
  all: Wallet[]
  /** The platforms that use an emulator. No real phone accepts their passes. */
  sandboxed: Platform[]
}
