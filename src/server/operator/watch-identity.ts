import { hash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { SetupError } from '../../core/errors.ts'
import { readSecret } from '../boot/config.ts'
import { type IdentityConfig, renewIdentity, type ShownIdentity } from './identities.ts'
import type { AppleFiles } from './identity-files.ts'

/** What a watch tells of. */
export interface WatchEvents {
  onRenewed: (identity: ShownIdentity) => void
  /** Said once for each reason; what was there before goes on. */
  onRefused: (reason: string) => void
}

/** As those of the server's own files: two looks take what is new. */
const LOOK_MS = 3_000

/**
 * Renews an identity from its files now, and whenever a secret store rewrites them, until it is stopped. They are written one after the
 * other, so they are judged once two looks have read the same.
 */
export async function watchIdentity(
  config: IdentityConfig,
  name: string,
  { files, signal, onRenewed, onRefused }: WatchEvents & { files: AppleFiles; signal: AbortSignal },
): Promise<void> {
  let [seen, judged, told]: (string | undefined)[] = []
  while (!signal.aborted) {
    const found = contentOf(files)
    if (found === seen && found !== judged) {
      judged = found
      try {
        onRenewed(await renewIdentity(config, name, { files, at: new Date() }))
        told = undefined
      } catch (error) {
        // A database that does not answer is asked again.
        if (!(error instanceof SetupError)) judged = undefined
        const { message } = error as Error
        if (message !== told) onRefused(message)
        told = message
      }
    }
    seen = found
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined)
  }
}

/** A file that is being replaced is missing for a moment. */
function contentOf({ certificate, key, wwdr }: AppleFiles): string {
  try {
    const texts = [certificate, key, ...(wwdr === undefined ? [] : [wwdr])].map(
      (file) => readSecret(file, 'a file').pem,
    )
    return texts.map((pem) => hash('sha256', pem)).join()
  } catch (error) {
    return (error as Error).message
  }
}
