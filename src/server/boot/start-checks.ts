import { SetupError } from '../../core/errors.ts'
import type { Store } from '../../storage/store.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import type { Config } from './config.ts'
import { SANDBOX_PASS_TYPE } from './sandbox.ts'
import type { Identities } from './wallets.ts'

/** What phones hold is theirs for years: checks that keep a start from losing them. */

/** A setting that cannot work: says which one, why, and what to do. Stops the start of the server. */
class SettingsError extends SetupError {
  override readonly name = 'SettingsError'
}

/**
 * The public URL is written into every pass, and phones ask nowhere else for as long as they hold it.
 * @throws SettingsError in production, where it must be https
 */
export function requirePublicUrl({ isProduction, publicUrl, role }: Config): void {
  if (!isProduction || publicUrl?.startsWith('https://')) return
  const given = publicUrl === undefined ? 'none is given' : `${publicUrl} is not`
  throw new SettingsError(
    `--production needs an https --public-url, and ${given}. It is written into every pass for good: phones fetch ` +
      'updates from it, and Google the images. Give the address that phones reach this service by, such as ' +
      `--public-url https://passes.example.com (PASSES_PUBLIC_URL)${role === 'worker' ? ', the same for every process' : ''}.`,
  )
}

const PASS_TYPE = 'apple-pass-type'

/**
 * A phone knows a pass by its pass type identifier: signed and pushed under another one, what it holds would never be
 * updated again. The database remembers the identifier; it may change while no phone holds a pass.
 * @throws CredentialError
 */
export async function requireSamePassType({ apple }: Identities, store: Store): Promise<void> {
  if (!apple) return
  const { passTypeIdentifier } = apple
  const known = await store.transaction(async (tx) => {
    const first = await tx.settings.insert(PASS_TYPE, passTypeIdentifier)
    if (first === passTypeIdentifier) return first
    // Phones of the sandbox are no real ones.
    if (first !== SANDBOX_PASS_TYPE && (await tx.registrations.hasAny())) return first
    await tx.settings.update(PASS_TYPE, passTypeIdentifier)
    return passTypeIdentifier
  })
  if (known === passTypeIdentifier) return
  const found =
    passTypeIdentifier === SANDBOX_PASS_TYPE
      ? 'Without credentials Apple would run in the sandbox'
      : `The Apple certificate is for the pass type identifier ${passTypeIdentifier}`
  throw new CredentialError(
    `${found}, and phones hold passes of ${known}: they would never be updated again. Start with a certificate for ` +
      `${known} (--apple-certificate, --apple-key; Apple renews it for the same identifier), or use a database of its ` +
      `own for ${passTypeIdentifier}.`,
  )
}
