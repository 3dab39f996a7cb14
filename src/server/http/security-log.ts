import type { ApiError } from '../../core/errors.ts'
import type { Logger } from '../boot/log.ts'
import { monotonicSeconds } from './middleware/rate-limit.ts'

/** What an operator should know of who knocks at the door. */
export type SecurityEvent =
  | 'authentication refused'
  | 'permission denied'
  | 'forged link'
  | 'forged callback'
  | 'limited'
  | 'connection refused'

/** Notes what may be an attack; of many alike, some. */
export interface SecurityLog {
  note(event: SecurityEvent, facts: { address: string; [fact: string]: unknown }): void
}

/** Lines of one kind a minute, and of those the lines about one address: an attacker can fill no disk with them. */
const MAX_LINES = 60
const MAX_LINES_BY_ADDRESS = 10
const WINDOW_SECONDS = 60
/** Addresses that are told apart in a minute. */
const MAX_ADDRESSES = 10_000

interface Window {
  startedAt: number
  lines: number
  leftOut: number
  byAddress: Map<string, number>
}

/** Lines at info that name the client's address. What is left out is counted, and the count is logged after the minute. */
export function createSecurityLog(log: Logger, now: () => number = monotonicSeconds): SecurityLog {
  const windows = new Map<SecurityEvent, Window>()

  function close(event: SecurityEvent): void {
    const { leftOut = 0, byAddress } = windows.get(event) ?? {}
    windows.delete(event)
    if (leftOut === 0) return
    log.info({ security: event, leftOut, addresses: byAddress?.size }, `security: ${leftOut} lines left out`)
  }

  function open(event: SecurityEvent): Window {
    const current = windows.get(event)
    if (current && now() - current.startedAt < WINDOW_SECONDS) return current
    close(event)
    const window = { startedAt: now(), lines: 0, leftOut: 0, byAddress: new Map() }
    windows.set(event, window)
    return window
  }

  return {
    note(event, facts) {
      const window = open(event)
      const lines = window.byAddress.get(facts.address) ?? 0
      if (lines > 0 || window.byAddress.size < MAX_ADDRESSES) window.byAddress.set(facts.address, lines + 1)
      if (window.lines < MAX_LINES && lines < MAX_LINES_BY_ADDRESS) {
        window.lines += 1
        log.info({ security: event, ...facts }, `security: ${event}`)
        return
      }
      // Told even if nothing more comes.
      if (window.leftOut === 0)
        setTimeout(() => windows.get(event) === window && close(event), WINDOW_SECONDS * 1000).unref()
      window.leftOut += 1
    },
  }
}

/** What a rejection says about whoever was refused; undefined for an honest mistake. */
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
