import type { LedgerReason, LedgerResult, ScanReasonCode, ScanResult } from '../../contract/schemas/scan-shapes.ts'

/** The stored reason of each code. Put a code that shares a reason before the general one (see `reasonCodes`). */
const ledgerReasons: Record<ScanReasonCode, LedgerReason> = {
  valid: 'valid',
  stale_identifier: 'unverifiable',
  already_scanned: 'already_used',
  not_active: 'not_active',
  expired: 'expired',
  revoked: 'revoked',
  wrong_scope: 'wrong_project',
  not_valid_context: 'out_of_window',
  out_of_window: 'out_of_window',
  quota_exhausted: 'quota_exhausted',
  cooldown: 'cooldown',
  no_match: 'no_match',
  multiple_matches: 'multiple_matches',
}

export function ledgerReason(code: ScanReasonCode): LedgerReason {
  return ledgerReasons[code]
}

/** All results except accepted and reversal are stored as denied. */
export function ledgerResult(result: ScanResult): LedgerResult {
  return result === 'accepted' || result === 'reversal' ? result : 'denied'
}

/** Returns the result that door staff saw for a ledger entry. The reason determines the kind of rejection. */
export function resultOf({ result, reason }: { result: LedgerResult; reason: LedgerReason | null }): ScanResult {
  if (result !== 'denied') return result
  return (reason && rejections[reason]) ?? 'denied'
}

/** Returns the reason code that door staff saw. If the server and a device disagreed, this is the device's reason. */
export function reasonCodeOf({
  reasonCode,
  reason,
}: {
  reasonCode: ScanReasonCode | null
  reason: LedgerReason | null
}): ScanReasonCode | null {
  return reasonCode ?? (reason && reasonCodes[reason])
}

/** The reason code of each ledger reason. If several codes share a reason, this is the last and most general one. */
export const reasonCodes = Object.fromEntries(
  Object.entries(ledgerReasons).map(([code, reason]) => [reason, code]),
) as Record<LedgerReason, ScanReasonCode>

/** The scan result of a rejection, by its ledger reason. For any other reason, the result is `denied`. */
export const rejections: Partial<Record<LedgerReason, ScanResult>> = {
  already_used: 'duplicate',
  no_match: 'unknown',
  multiple_matches: 'ambiguous',
}
