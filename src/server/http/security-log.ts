import type { ApiError, ErrorCode } from '../../core/errors.ts'
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
  if (forLog.limit) return 'limited'
  if (code === 'LINK_INVALID' && !['malformed', 'tampered', 'unknown'].includes(String(details.reason)))
    return undefined
  return eventOfCode[code]
}

const eventOfCode: Partial<Record<ErrorCode, SecurityEvent>> = {
  TOO_MANY_REQUESTS: 'limited',
  UNAUTHORIZED: 'authentication refused',
  TOKEN_INVALID: 'authentication refused',
  TOKEN_EXPIRED: 'authentication refused',
  TENANT_SUSPENDED: 'authentication refused',
  TENANT_EXPIRED: 'authentication refused',
  FORBIDDEN: 'permission denied',
  LINK_INVALID: 'forged link',
}
