import type { LedgerReason, LedgerResult, ScanReasonCode, ScanResult } from '../../contract/scan-shapes.ts'

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

/** The reason of an attempt as the ledger shows it (spec 2.8). */
export function ledgerReason(code: ScanReasonCode): LedgerReason {
  return ledgerReasons[code]
}

/** The result of an attempt as the ledger shows it: whatever was not accepted is denied. */
export function ledgerResult(result: ScanResult): LedgerResult {
  return result === 'accepted' || result === 'reversal' ? result : 'denied'
}

/** What the steward was told of an item of the ledger: reasons tell the kinds of refusal apart. */
export function resultOf({ result, reason }: { result: LedgerResult; reason: LedgerReason | null }): ScanResult {
  if (result !== 'denied') return result
  return (reason && refusals[reason]) ?? 'denied'
}

/** Why, in the words of who was told: of an offline scan where the device decided otherwise, the reason of the device. */
export function reasonCodeOf({
  reasonCode,
  reason,
}: {
  reasonCode: ScanReasonCode | null
  reason: LedgerReason | null
}): ScanReasonCode | null {
  return reasonCode ?? (reason && reasonCodes[reason])
}

/** Where the ledger has one reason for several codes, the one that says the same by itself. */
const reasonCodes: Record<LedgerReason, ScanReasonCode> = {
  valid: 'valid',
  already_used: 'already_scanned',
  no_match: 'no_match',
  multiple_matches: 'multiple_matches',
  not_active: 'not_active',
  expired: 'expired',
  revoked: 'revoked',
  wrong_project: 'wrong_scope',
  out_of_window: 'out_of_window',
  quota_exhausted: 'quota_exhausted',
  cooldown: 'cooldown',
  unverifiable: 'stale_identifier',
}

/** Refusals that have a result of their own (spec 2.7). */
export const refusals: Partial<Record<LedgerReason, ScanResult>> = {
  already_used: 'duplicate',
  no_match: 'unknown',
  multiple_matches: 'ambiguous',
}
