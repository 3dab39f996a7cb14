import { existsSync } from 'node:fs'
import { takeProcessLock } from '../../../storage/db/sqlite/process-lock.ts'
import type { Store } from '../../../storage/store.ts'
import { GoogleApiError } from '../../../wallets/google/api/api-error.ts'
import {
  createGoogleApi,
  type GoogleApi,
  type GoogleApiOptions,
  isLocationRejection,
} from '../../../wallets/google/api/google-api.ts'
import { localized } from '../../../wallets/google/fields.ts'
import type { GoogleSigner } from '../../../wallets/google/google-identity.ts'
import type { SandboxGoogleServer } from '../../../wallets/sandbox/google/google-server.ts'
import { shareEmulator } from '../../../wallets/sandbox/sharing.ts'
import { type Config, sandboxFolder } from '../../config.ts'
import { readGoogleIdentity } from '../../identities/credentials.ts'
import { loadSandboxGoogle } from '../../identities/sandbox.ts'
import { trialLogo } from '../../pages/assets.ts'
import { setups } from '../../platforms/deliveries.ts'
import { createLocationRejections, type KnownLocationRejections } from '../../wallet-sync/google-records.ts'
import { type Check, examine, type Finding, failed, passed, reasonToSkip, skipped } from './check.ts'

export interface GoogleOptions extends Pick<GoogleApiOptions, 'endpoints'> {
  /** The store for rejections of locations; undefined if the database cannot be queried. */
  store: Store | undefined
  canWrite: boolean
  clock: () => Date
}

/** Checks the service account, its access to the issuer, and whether Google accepts classes and locations. */
export async function checkGoogle(
  config: Config,
  { store, canWrite, clock, endpoints }: GoogleOptions,
): Promise<Check[]> {
  const reason = reasonToSkip(config, 'google')
  const isSandboxed = config.platforms.includes('google') && !setups.google.hasCredentials(config)
  const rejections = store && createLocationRejections(store, clock)
  let identity: GoogleSigner | undefined
  return examine('Google', {
    Key: {
      fix: 'set --google-key (JSON key of the service account) and --google-issuer-id; without a key, attach a service account to this machine',
      async check() {
        if (reason) return skipped(reason)
        identity = await readGoogleIdentity(config)
        return passed(`${identity.clientEmail}, issuer ${identity.issuerId}`)
      },
    },
    Permission: {
      fix: ALLOW_CONNECTIONS,
      check: () =>
        identity ? tryRead(identity, createGoogleApi({ identity, endpoints })) : skipped(reason ?? NO_IDENTITY),
    },
    Class: {
      fix: ALLOW_CONNECTIONS,
      async check() {
        if (!canWrite) return skipped('to create a class, run "passes doctor --write"')
        const trial = { publicUrl: config.publicUrl, rejections }
        if (identity) return tryWrite(identity, createGoogleApi({ identity, endpoints }), trial)
        if (!isSandboxed) return skipped(reason ?? NO_IDENTITY)
        return inSandbox(config, (known, api) => {
          identity = known
          return tryWrite(known, api, trial)
        })
      },
    },
    Locations: {
      fix: ALLOW_CONNECTIONS,
      async check() {
        if (!rejections) return skipped('the database cannot be read')
        return identity ? checkLocations(identity.issuerId, rejections) : skipped(reason ?? NO_IDENTITY)
      },
    },
  })
}

const ALLOW_CONNECTIONS = 'allow connections to oauth2.googleapis.com and walletobjects.googleapis.com, port 443'
const NO_IDENTITY = 'the key cannot be read'

/** Requests an object that does not exist. Google checks the permission first, so "missing" proves read access. */
async function tryRead(identity: GoogleSigner, api: GoogleApi): Promise<Finding> {
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
  return passed('got an access token, and can read the issuer')
}

/** Runs the work with the emulator and the service account that the servers of this sandbox share. */
async function inSandbox(
  config: Config,
  work: (identity: GoogleSigner, api: GoogleApi) => Promise<Finding>,
): Promise<Finding> {
  const folder = sandboxFolder(config)
  // Check first, because `shareEmulator` would create the folder.
  if (!existsSync(folder)) return skipped(NO_SANDBOX)
  const emulator = await shareEmulator<Omit<SandboxGoogleServer, 'close'>>({
    folder,
    name: 'google',
    takeLock: takeProcessLock,
    onError: () => undefined,
  })
  try {
    const found = emulator.find()
    if (!found) return skipped(NO_SANDBOX)
    const identity = await loadSandboxGoogle(config)
    return await work(identity, createGoogleApi({ identity, endpoints: { api: found.apiUrl, token: found.tokenUrl } }))
  } finally {
    await emulator.close()
  }
}

const NO_SANDBOX = 'google runs in the sandbox, but no server is running: start one with "passes serve"'

interface Trial {
  publicUrl: string | undefined
  rejections: KnownLocationRejections | undefined
}

/** Writes a draft class. Every run writes the same class, because Google cannot delete classes. */
async function tryWrite(
  { issuerId }: GoogleSigner,
  api: GoogleApi,
  { publicUrl, rejections }: Trial,
): Promise<Finding> {
  const origin = publicUrl?.replace(/\/+$/, '')
  const hasLogo = origin?.startsWith('https://') === true
  const trial = {
    id: `${issuerId}.passes-doctor`,
    issuerName: 'passes doctor',
    reviewStatus: 'DRAFT',
    eventName: localized('A trial of passes doctor'),
    ...(hasLogo && {
      logo: { sourceUri: { uri: `${origin}${trialLogo.path}` }, contentDescription: localized('A plain square') },
    }),
  }
  const what = hasLogo ? 'a class with a logo' : 'a class (without a logo: the public URL is not https)'
  try {
    await api.upsertClass('eventTicket', { ...trial, merchantLocations: [{ latitude: 0, longitude: 0 }] })
    await rejections?.clear(issuerId)
    return passed(`Google accepted ${what} and a location: ${trial.id}`)
  } catch (error) {
    if (!isLocationRejection(error)) {
      if (error instanceof GoogleApiError) return failed(error.message, FIX_CLASS)
      throw error
    }
    await rejections?.insert(issuerId, error.message)
  }
  await api.upsertClass('eventTicket', trial)
  return passed(`Google accepted ${what}, but no location: ${trial.id}`)
}

const FIX_CLASS =
  'fix the problem that Google reports: a logo must be reachable at the public URL from the internet, and the account needs write access'

/**
 * Checks whether the issuer can use locations. A rejection does not fail the check, because most issuers cannot use
 * locations, and passes work without them.
 */
async function checkLocations(issuerId: string, rejections: KnownLocationRejections): Promise<Finding> {
  const rejection = await rejections.find(issuerId)
  if (!rejection) return passed('Google has not rejected locations')
  return skipped(
    `passes are issued without locations, because Google rejected locations for the issuer ${issuerId} at ` +
      `${rejection.at}: ${rejection.message} Ask the support of Google Wallet to allow them, then run "passes doctor ` +
      '--write"',
  )
}
