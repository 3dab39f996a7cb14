import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CredentialError } from '../../wallets/wallet.ts'
import { readSecret } from '../config.ts'
import type { IdentityConfig, ShownIdentity } from './identities.ts'
import { assertRenewable, type RenewedFrom, renewIfNew } from './renew-identity.ts'

/** What a watch reads, and what it tells of. */
export interface WatchIdentityOptions extends RenewedFrom {
  signal: AbortSignal
  /** It has begun: what is renewed from these files was found. */
  onWatching?: () => void
  onRenewed: (identity: ShownIdentity) => void
  /** Said once for each content and reason; what was there before goes on. */
  onRefused: (reason: string) => void
  /** Between two looks; a second by default, so that files are judged within two or three of their last change. */
  lookMs?: number
}

const LOOK_MS = 1_000

/**
 * Renews an identity from its files now, unless it has what they hold, and whenever a secret store rewrites them, until it is
 * stopped. They are written one after the other, so they are checked once two looks have read the same. What is refused is checked
 * again when it changes; a database that does not answer is asked again with the next look.
 * @throws OperatorError, at once: there is no such identity, or none that takes these files
 */
export async function watchIdentity(
  config: IdentityConfig,
  name: string,
  { files, keyFile, signal, onWatching, onRenewed, onRefused, lookMs = LOOK_MS }: WatchIdentityOptions,
): Promise<void> {
  await assertRenewable(config, name, { files, keyFile })
  onWatching?.()
  const paths = files ? [files.certificate, files.key, files.wwdr] : [keyFile]
  let [seen, checked, told]: (string | undefined)[] = []
  while (!signal.aborted) {
    const found = contentOf(paths.filter((path) => path !== undefined))
    if (found === seen && found !== checked) {
      checked = found
      try {
        const renewed = await renewIfNew(config, name, { files, keyFile, at: new Date() })
        told = undefined
        if (renewed) onRenewed(renewed)
      } catch (error) {
        if (!(error instanceof CredentialError)) checked = undefined
        const { message } = error as Error
        const refused = `${found} ${message}`
        if (refused !== told) onRefused(message)
        told = refused
      }
    }
    seen = found
    await sleep(lookMs, undefined, { signal }).catch(() => undefined)
  }
}

/** A file that is being replaced is missing for a moment. */
function contentOf(paths: string[]): string {
  try {
    return paths.map((path) => hash('sha256', readSecret(path, 'a file').pem)).join()
  } catch (error) {
    return (error as Error).message
  }
}
