import { type Platform, platforms } from '../../core/contract/schemas/platform.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import type { Wallets } from '../../wallets/wallets.ts'
import type { Config } from '../config.ts'
import { setups } from '../platforms/deliveries.ts'
import type { PlatformSetup, WalletOptions } from '../platforms/delivery.ts'

/** The server's own identity on each platform, from the flags. `sandboxed` lists the emulated platforms. */
export type ServerIdentities = Partial<{ [P in Platform]: Awaited<ReturnType<(typeof setups)[P]['load']>> }> & {
  sandboxed: Platform[]
}

/** Reads or creates the credentials of the configured platforms. @throws CredentialError if one is not valid */
export async function loadIdentities(config: Config, at: Date): Promise<ServerIdentities> {
  const sandboxed = sandboxedPlatforms(config)
  const identities = await Promise.all(
    config.platforms.map(async (platform) => [
      platform,
      await setups[platform].load(config, sandboxed.includes(platform), at),
    ]),
  )
  return { ...Object.fromEntries(identities), sandboxed }
}

/** Returns the configured platforms without credentials. @throws CredentialError in production if there are any */
export function sandboxedPlatforms(config: Config): Platform[] {
  const sandboxed = config.platforms.filter((platform) => !setups[platform].hasCredentials(config))
  if (config.isProduction && sandboxed.length > 0) {
    throw new CredentialError(
      `--production does not allow the sandbox, but there are no credentials for ${sandboxed.join(' and ')}. Set them, or exclude the platform ` +
        'with --platforms.',
    )
  }
  return sandboxed
}

export function createWallets(identities: ServerIdentities, options: WalletOptions): Wallets {
  const all = platforms.flatMap((platform) => {
    const setup: Pick<PlatformSetup<never>, 'createWallet'> = setups[platform]
    const identity = identities[platform]
    return identity ? [setup.createWallet(identity as never, options)] : []
  })
  return {
    ...Object.fromEntries(all.map((wallet) => [wallet.platform, wallet])),
    all,
    sandboxed: identities.sandboxed,
  }
}
