import type { StoredIdentity } from '../storage/workspaces/identities-repository.ts'
import type { AppleIdentity } from '../wallets/apple/apple-identity.ts'
import type { Logger } from './log.ts'

export interface Certificate {
  id: 'apple_pass' | 'apple_wwdr'
  name: string
  /** The name of the identity in the database. Default: the identity of the server. */
  identity?: string
  notAfter: Date
}

const DAY_SECONDS = 86_400

/** The number of days before a certificate expires at which "passes doctor" and the log begin to warn. */
export const WARNING_DAYS = 30

/** The number of days before a certificate expires at which the log reports an error. A renewal takes days. */
const URGENT_DAYS = 7

export function certificatesOf({ apple }: { apple?: AppleIdentity }): Certificate[] {
  if (!apple) return []
  return [
    { id: 'apple_pass', name: 'Apple pass certificate', notAfter: apple.certificate.notAfter },
    { id: 'apple_wwdr', name: 'Apple WWDR certificate', notAfter: apple.wwdr.notAfter },
  ]
}

export function certificatesOfIdentities(identities: Pick<StoredIdentity, 'name' | 'expiresAt'>[]): Certificate[] {
  return identities.flatMap(({ name: identity, expiresAt: notAfter }) =>
    notAfter ? [{ id: 'apple_pass' as const, name: 'Apple pass certificate', identity, notAfter }] : [],
  )
}

/** Returns the seconds until a certificate expires; negative after its expiry. */
export function secondsLeft({ notAfter }: Pick<Certificate, 'notAfter'>, at: Date): number {
  return (notAfter.getTime() - at.getTime()) / 1000
}

/** Returns the whole days until a certificate expires; negative after its expiry. */
export function daysLeft(certificate: Pick<Certificate, 'notAfter'>, at: Date): number {
  return Math.floor(secondsLeft(certificate, at) / DAY_SECONDS)
}

export function warnOfExpiry(certificates: Certificate[], at: Date, log: Logger): void {
  for (const certificate of certificates) {
    const days = daysLeft(certificate, at)
    if (days >= WARNING_DAYS) continue
    const { id, name, notAfter, identity } = certificate
    const end = days < 0 ? 'has expired' : `expires in ${days} days`
    const message =
      identity === undefined
        ? `the ${name} ${end}: renew it, and replace the old file`
        : `the ${name} of the identity ${identity} ${end}: run "passes identity renew ${identity}"`
    const facts = { certificate: id, ...(identity !== undefined && { identity }), notAfter, daysLeft: days }
    log[days < URGENT_DAYS ? 'error' : 'warn'](facts, message)
  }
}

/** Logs the certificates that expire soon: immediately, and then once a day. */
export function watchCertificates(
  certificates: () => Certificate[],
  { clock, log }: { clock: () => Date; log: Logger },
): { stop(): Promise<void> } {
  const warn = () => warnOfExpiry(certificates(), clock(), log)
  warn()
  const timer = setInterval(warn, DAY_SECONDS * 1000)
  return { stop: async () => clearInterval(timer) }
}
