import { parseServerKey } from '../../../core/rules/crypto/server-key.ts'
import type { Store } from '../../../storage/store.ts'
import type { StoredIdentity } from '../../../storage/workspaces/identities-repository.ts'
import { assertValidity } from '../../../wallets/apple/apple-identity.ts'
import { findServerKey } from '../../boot/server-key.ts'
import { daysLeft, WARNING_DAYS } from '../../certificates.ts'
import type { Config } from '../../config.ts'
import { openApple, openGoogle } from '../../identities/secrets.ts'
import { type Check, examine, type Finding, failed, passed } from './check.ts'

/**
 * Checks each identity of the database: its key opens and belongs to its certificate, and the certificate is not about
 * to expire.
 */
export async function checkIdentities(config: Config, store: Store | undefined, at: Date): Promise<Check[]> {
  const identities = (await store?.identities.listAll()) ?? []
  const text = identities.length > 0 ? await findServerKey(config).catch(() => undefined) : undefined
  return examine(
    'Identities',
    identities.map((stored) => ({
      name: stored.name,
      fix: fixOf(stored),
      look: () => (text === undefined ? failed('The server key is missing.', NO_KEY) : look(stored, text, config, at)),
    })),
  )
}

const NO_KEY = 'give the server key: PASSES_SERVER_KEY'

function fixOf({ platform, name }: StoredIdentity): string {
  const files = platform === 'apple' ? '--certificate FILE --key FILE' : '--key-file FILE'
  return `passes identity renew ${name} ${files}`
}

async function look(stored: StoredIdentity, text: string, config: Config, at: Date): Promise<Finding> {
  const keys = { current: parseServerKey(text), previous: config.previousServerKeys.map(parseServerKey) }
  if (stored.platform === 'google') {
    const { clientEmail, issuerId } = await openGoogle(stored, keys)
    return passed(`${clientEmail}, issuer ${issuerId}`)
  }
  const { passTypeIdentifier, certificate, wwdr } = openApple(stored, keys)
  assertValidity(certificate, 'pass certificate', `the identity ${stored.name}`, at)
  assertValidity(wwdr, 'WWDR certificate', `the identity ${stored.name}`, at)
  const first = certificate.notAfter < wwdr.notAfter ? certificate : wwdr
  const left = `${daysLeft(first, at)} days left, until ${first.notAfter.toISOString()}`
  if (daysLeft(first, at) < WARNING_DAYS) return failed(`Only ${left}.`, fixOf(stored))
  return passed(`${passTypeIdentifier}: ${left}`)
}
