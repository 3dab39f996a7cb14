import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { CredentialError } from '../../wallets/wallet.ts'
import { readSecret } from '../config.ts'
import type { IdentityConfig, ShownIdentity } from './manage-identities.ts'
import { assertRenewable, type RenewedFrom, renewIfNew } from './renew-identity.ts'

export interface WatchIdentityOptions extends RenewedFrom {
  signal: AbortSignal
  /** Called once the identity is known to accept these files. */
  onWatching?: () => void
  onRenewed: (identity: ShownIdentity) => void
  /** Called once per content and reason. The current certificate stays in use. */
  onRejected: (reason: string) => void
  /** The poll interval; a second by default, so that a change is checked two to three seconds after the last write. */
  checkMs?: number
}

const CHECK_MS = 1_000

/**
 * Renews an identity from its files, now and whenever a secret store rewrites them, until the signal aborts. A secret
 * store writes the files one after the other, so they are checked only when two polls have read the same content. A
 * rejected content is checked again when it changes. If the database does not respond, the next poll retries.
 * @throws OperatorError at the start, if the identity does not exist or does not accept these files
 */
export async function watchIdentity(
  config: IdentityConfig,
  name: string,
  { files, keyFile, signal, onWatching, onRenewed, onRejected, checkMs = CHECK_MS }: WatchIdentityOptions,
): Promise<void> {
  await assertRenewable(config, name, { files, keyFile })
  onWatching?.()
  const paths = files ? [files.certificate, files.key, files.wwdr] : [keyFile]
  let [seen, checked, reported]: (string | undefined)[] = []
  while (!signal.aborted) {
    const found = contentOf(paths.filter((path) => path !== undefined))
    if (found === seen && found !== checked) {
      checked = found
      try {
        const renewed = await renewIfNew(config, name, { files, keyFile, at: new Date() })
        reported = undefined
        if (renewed) onRenewed(renewed)
      } catch (error) {
        if (!(error instanceof CredentialError)) checked = undefined
        const { message } = error as Error
        const rejection = `${found} ${message}`
        if (rejection !== reported) onRejected(message)
        reported = rejection
      }
    }
    seen = found
    await sleep(checkMs, undefined, { signal }).catch(() => undefined)
  }
}

/** Returns a digest of the files, or the error message while a file that is being replaced is missing. */
function contentOf(paths: string[]): string {
  try {
    return paths.map((path) => hash('sha256', readSecret(path, 'a file').pem)).join()
  } catch (error) {
    return (error as Error).message
  }
}
