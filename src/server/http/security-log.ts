import type { ApiError } from '../../core/errors.ts'
import { createLineLimit, type LineLimit } from '../line-limit.ts'
import type { Logger } from '../log.ts'

export type SecurityEvent =
  | 'authentication refused'
  | 'permission denied'
  | 'forged link'
  | 'forged callback'
  | 'limited'
  | 'connection refused'

export type SecurityLog = ReturnType<typeof createSecurityLog>

/**
 * Logs possible attacks at level info, with the client address. Limits the lines by event and address, and logs the
 * number of omitted lines after each minute.
 */
export function createSecurityLog(log: Logger, now?: () => number) {
  const limits = new Map<SecurityEvent, LineLimit>()

  function limitOf(event: SecurityEvent): LineLimit {
    const known = limits.get(event)
    if (known) return known
    const limit = createLineLimit(
      (leftOut, addresses) => log.info({ security: event, leftOut, addresses }, `security: ${leftOut} lines left out`),
      { now },
    )
    limits.set(event, limit)
    return limit
  }

  return {
    note(event: SecurityEvent, facts: { address: string; [fact: string]: unknown }): void {
      if (limitOf(event).admits(facts.address)) log.info({ security: event, ...facts }, `security: ${event}`)
    },
  }
}

/** Returns the security event of a rejection; undefined for a rejection that is probably a mistake. */
export function securityEventOf({ code, details, forLog }: ApiError): SecurityEvent | undefined {
  if (forLog.security) return forLog.security as SecurityEvent
  if (forLog.limit || code === 'TOO_MANY_REQUESTS') return 'limited'
  switch (code) {
    case 'UNAUTHORIZED':
    case 'TOKEN_INVALID':
    case 'TOKEN_EXPIRED':
    case 'TENANT_SUSPENDED':
    case 'TENANT_EXPIRED':
      return 'authentication refused'
    case 'FORBIDDEN':
      return 'permission denied'
    case 'LINK_INVALID':
      return ['malformed', 'tampered', 'unknown'].includes(String(details.reason)) ? 'forged link' : undefined
    default:
      return undefined
  }
}
