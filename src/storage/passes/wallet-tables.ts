import type { Platform } from '../../core/contract/schemas/platform.ts'
import { GoogleClasses } from './google-classes.ts'
import { GoogleObjects } from './google-objects.ts'
import { Registrations } from './registrations.ts'

/**
 * The table with the wallets of one platform, and the SQL to read it. In the SQL, `wallet` is a row of the table,
 * joined to its row of `passes`. If the platform is one of `messagedPlatforms`, the column `sent_version` is the
 * walletVersion that was last sent.
 */
export interface WalletTable {
  table: string
  /** The condition that the wallet of a row holds its pass; omitted if the wallet of every row does. */
  holds?: string
  /** The condition that a wallet lacks the newest version. */
  isStale: string
  /** An SQL aggregate over a pass's rows: the number of devices or people that hold it. */
  devices: string
  /** The column with the device ID, unless the platform reports no devices. */
  device?: string
  columns: Record<'held_version' | 'held_since' | 'fetched_at' | 'pushed_version' | 'pushed_at' | 'last_error', string>
}

export const walletTables: Record<Platform, WalletTable> = {
  apple: {
    table: 'apple_registrations',
    // A device without downloads has `fetched_version` 0, but shows version 1, with which the pass was added.
    isStale: 'passes.wallet_version > 1 and wallet.fetched_version < passes.wallet_version',
    devices: 'count(*)',
    device: 'wallet.device_id',
    columns: {
      held_version: 'wallet.fetched_version',
      held_since: 'coalesce(wallet.fetched_at, wallet.registered_at)',
      fetched_at: 'wallet.fetched_at',
      pushed_version: 'wallet.pushed_version',
      pushed_at: 'wallet.pushed_at',
      last_error: 'wallet.last_error',
    },
  },
  google: {
    table: 'google_objects',
    // Compare with `>`, because the number of holders is negative if a removal arrived before its save.
    holds: 'wallet.holders > 0',
    isStale: 'wallet.sent_version < passes.wallet_version',
    devices: 'sum(case when wallet.holders > 0 then wallet.holders else 0 end)',
    columns: {
      held_version: 'wallet.sent_version',
      held_since: 'wallet.sent_at',
      fetched_at: 'cast(null as bigint)',
      pushed_version: 'wallet.sent_version',
      pushed_at: 'wallet.sent_at',
      last_error: 'wallet.last_error',
    },
  },
}

export const walletRepositories = {
  registrations: Registrations,
  googleObjects: GoogleObjects,
  googleClasses: GoogleClasses,
}
