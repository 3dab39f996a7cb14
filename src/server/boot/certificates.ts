import type { Logger } from './log.ts'
import type { Identities } from './wallets.ts'

/** A certificate that passes depend on. */
export interface Certificate {
  id: 'apple_pass' | 'apple_wwdr'
  /** As messages call it. */
  name: string
  notAfter: Date
}

const DAY_SECONDS = 86_400

/** From then on its end is warned of. */
export const WARNING_DAYS = 30

/** From then on it is urgent: a renewal takes days. */
const URGENT_DAYS = 7

export function certificatesOf({ apple }: Pick<Identities, 'apple'>): Certificate[] {
  if (!apple) return []
  return [
    { id: 'apple_pass', name: 'Apple pass certificate', notAfter: apple.certificate.notAfter },
    { id: 'apple_wwdr', name: 'Apple WWDR certificate', notAfter: apple.wwdr.notAfter },
  ]
}

/** Negative once it has expired. */
export function secondsLeft({ notAfter }: Pick<Certificate, 'notAfter'>, at: Date): number {
  return (notAfter.getTime() - at.getTime()) / 1000
}

/** Whole days. */
export function daysLeft(certificate: Pick<Certificate, 'notAfter'>, at: Date): number {
  return Math.floor(secondsLeft(certificate, at) / DAY_SECONDS)
}

/** Logs which certificates end soon: a warning from 30 days ahead, an error from 7. */
export function warnOfExpiry(certificates: Certificate[], at: Date, log: Logger): void {
  for (const certificate of certificates) {
    const days = daysLeft(certificate, at)
    if (days >= WARNING_DAYS) continue
    const { id, name, notAfter } = certificate
    const end = days < 0 ? 'has expired' : `expires in ${days} days`
    const message = `the ${name} ${end}: renew it, give the new file and restart`
    log[days < URGENT_DAYS ? 'error' : 'warn']({ certificate: id, notAfter, daysLeft: days }, message)
  }
}

/** Warns now and once a day. */
export function watchCertificates(
  certificates: Certificate[],
  { clock, log }: { clock: () => Date; log: Logger },
): { stop(): Promise<void> } {
  const warn = () => warnOfExpiry(certificates, clock(), log)
  warn()
  const timer = setInterval(warn, DAY_SECONDS * 1000)
  return { stop: async () => clearInterval(timer) }
}
