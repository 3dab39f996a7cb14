import { hash } from 'node:crypto'
import { type AppleCredentials, type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/identity.ts'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { readAppleCredentials, type ServerIdentities } from './wallets.ts'

/** What takes renewed certificates, and where they come from. */
export interface WatchAppleFilesOptions {
  config: Pick<Config, 'apple'>
  /** What is signed with now; `renew` changes it. */
  identities: Pick<ServerIdentities, 'apple'>
  /** Signs and pushes with it from now on. */
  renew: (identity: AppleIdentity) => void
  clock: () => Date
  log: Pick<Logger, 'info' | 'error'>
}

/** A watch over the files that the flags name. */
export interface AppleFilesWatch {
  /** Looks now, as the watch does by itself every 3 seconds. */
  look(): void
  stop(): Promise<void>
}

/** Two looks take what is new: well within the 10 seconds in which a change is to reach each process. */
const LOOK_MS = 3_000

/**
 * Takes renewed certificates from the files that the flags name, as an operator or a secret store puts them there
 * (decisions/0014). What would lose passes, or phones would refuse, is not taken: the log says why, once, and what was
 * signed with goes on. Files are written one after the other, so they are checked once two looks have read the same.
 */
export function watchAppleFiles({ config, identities, renew, clock, log }: WatchAppleFilesOptions): AppleFilesWatch {
  let taken: string | undefined
  let seen: string | undefined
  let told: string | undefined

  function look(): void {
    let found: string
    let take: () => void
    try {
      const credentials = readAppleCredentials(config)
      const { certificate, key, wwdr } = credentials
      found = [certificate, key, wwdr].map(({ pem }) => hash('sha256', pem)).join()
      take = () => takeOver(credentials)
    } catch (error) {
      // Files that are being replaced are missing for a moment, too.
      found = (error as Error).message
      take = () => {
        throw error
      }
    }
    if (!isSettled(found)) return
    try {
      take()
      taken = found
      told = undefined
    } catch (error) {
      refuse((error as Error).message)
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

  /** Whether it is new, and was there the last time as well. */
  function isSettled(found: string): boolean {
    const before = seen
    seen = found
    return found !== taken && found === before
  }

  function refuse(reason: string): void {
    if (reason === told) return
    told = reason
    const { notAfter } = identities.apple!.certificate
    const message = `the new Apple files are not used, and the certificate of before goes on until it ends: ${reason}`
    log.error({ certificate: 'apple_pass', notAfter }, message)
  }

  const timer = setInterval(look, LOOK_MS)
  return { look, stop: async () => clearInterval(timer) }
}
