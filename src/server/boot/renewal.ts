import { hash } from 'node:crypto'
import { type AppleCredentials, type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import type { Config } from '../config.ts'
import { readAppleCredentials } from '../identities/credentials.ts'
import type { Logger } from '../log.ts'
import type { ServerIdentities } from './wallets.ts'

export interface WatchAppleFilesOptions {
  config: Pick<Config, 'apple'>
  /** The identities in use. `renew` replaces the Apple identity. */
  identities: Pick<ServerIdentities, 'apple'>
  renew: (identity: AppleIdentity) => void
  clock: () => Date
  log: Pick<Logger, 'info' | 'error'>
}

/**
 * The interval of checks, in milliseconds. New files are loaded by the second check that reads them, which must be at
 * most 10 seconds after the change.
 */
const CHECK_MS = 3_000

/**
 * Loads a renewed certificate when an operator or a secret store replaces the files that the flags name
 * (decisions/0014). If phones would reject the certificate, or passes could no longer be updated, the current
 * certificate stays in use, and the log gives the reason once. The files are replaced one after the other. A change is
 * therefore loaded only when two checks in a row have read the same content.
 */
export function watchAppleFiles({ config, identities, renew, clock, log }: WatchAppleFilesOptions) {
  let taken: string | undefined
  let seen: string | undefined
  let loggedReason: string | undefined

  /** Checks now. A timer also does this every 3 seconds. */
  function check(): void {
    let credentials: AppleCredentials | undefined
    let found: string
    try {
      credentials = readAppleCredentials(config)
      const { certificate, key, wwdr } = credentials
      found = [certificate, key, wwdr].map(({ pem }) => hash('sha256', pem)).join()
    } catch (error) {
      // A file can be missing during its replacement, so log the error only if the next check finds the same error.
      found = (error as Error).message
    }
    if (!isSettled(found)) return
    if (!credentials) {
      logRejection(found)
      return
    }
    try {
      takeOver(credentials)
      taken = found
      loggedReason = undefined
    } catch (error) {
      logRejection((error as Error).message)
    }
  }

  function takeOver(credentials: AppleCredentials): void {
    const { passTypeIdentifier, teamIdentifier, certificate, wwdr } = identities.apple!
    const next = parseAppleIdentity({ ...credentials, passTypeIdentifier, teamIdentifier }, clock())
    if (next.certificate.der.equals(certificate.der) && next.wwdr.der.equals(wwdr.der)) return
    renew(next)
    const { notAfter } = next.certificate
    log.info({ certificate: 'apple_pass', passTypeIdentifier, notAfter }, 'signs with the renewed Apple certificate')
  }

  function isSettled(found: string): boolean {
    const before = seen
    seen = found
    return found !== taken && found === before
  }

  function logRejection(reason: string): void {
    if (reason === loggedReason) return
    loggedReason = reason
    const { notAfter } = identities.apple!.certificate
    const message = `the new Apple files are not used, and the previous certificate stays in use until it expires: ${reason}`
    log.error({ certificate: 'apple_pass', notAfter }, message)
  }

  const timer = setInterval(check, CHECK_MS)
  return { check, stop: async () => clearInterval(timer) }
}
