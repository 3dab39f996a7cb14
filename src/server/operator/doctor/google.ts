import { createGoogleApi, type GoogleApiOptions } from '../../../wallets/google/api/api.ts'
import { GoogleApiError } from '../../../wallets/google/api/api-error.ts'
import type { GoogleIdentity } from '../../../wallets/google/identity.ts'
import type { Config } from '../../boot/config.ts'
import { hasCredentials, readGoogleIdentity } from '../../boot/wallets.ts'
import { type Check, examine, type Finding, failed, passed, skipped } from './check.ts'

export type GoogleOptions = Pick<GoogleApiOptions, 'endpoints'>

/** The service account's key, and whether Google lets it read for the issuer. */
export async function checkGoogle(config: Config, options: GoogleOptions = {}): Promise<Check[]> {
  const reason = reasonToSkip(config)
  let identity: GoogleIdentity | undefined
  return examine('Google', [
    {
      name: 'Key',
      fix: 'give the JSON key of the service account and the issuer id: --google-key and --google-issuer-id',
      look() {
        if (reason) return skipped(reason)
        identity = readGoogleIdentity(config)
        return passed(`${identity.clientEmail}, issuer ${identity.issuerId}`)
      },
    },
    {
      name: 'Permission',
      fix: 'allow connections to oauth2.googleapis.com and walletobjects.googleapis.com, port 443',
      look: () => (identity ? tryRead(identity, options) : skipped(reason ?? 'the key cannot be read')),
    },
  ])
}

function reasonToSkip(config: Config): string | undefined {
  if (!config.platforms.includes('google')) return 'google is not among --platforms'
  if (!hasCredentials(config, 'google')) return 'google runs in the sandbox: nothing reaches a real wallet'
  return undefined
}

/** Asks for an object that nobody made: whoever may not read for the issuer is told so before that it is missing. */
async function tryRead(identity: GoogleIdentity, options: GoogleOptions): Promise<Finding> {
  const api = createGoogleApi({ identity, ...options })
  try {
    await api.getObject('generic', `${identity.issuerId}.passes-doctor`)
  } catch (error) {
    if (!(error instanceof GoogleApiError)) throw error
    if (error.kind === 'permission') {
      return failed(
        error.message,
        `add ${identity.clientEmail} as a user of the issuer ${identity.issuerId} in the Google Pay and Wallet console, and enable the Google Wallet API`,
      )
    }
    if (error.kind !== 'missing') throw error
  }
  return passed('a token was had, and the issuer may be read')
}
