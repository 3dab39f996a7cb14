import type { Platform } from '../core/contract/platform.ts'
import type { AppleWallet } from './apple/wallet.ts'
import type { GoogleWallet } from './google/wallet.ts'
import type { Wallet } from './wallet.ts'

/** The configured platforms. */
export interface Wallets {
  apple?: AppleWallet
  google?: GoogleWallet
  all: Wallet[]
  /** The platforms that run against an emulator. No real phone accepts their passes. */
  sandboxed: Platform[]
}
