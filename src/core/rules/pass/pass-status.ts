export const passStatuses = ['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'] as const
/**
 * A pass is QUEUED until a worker takes it (ISSUING), then ISSUED or FAILED. An ISSUED pass becomes EXPIRED at its
 * expiry. Any pass can become VOID, permanently.
 */
export type PassStatus = (typeof passStatuses)[number]

/** Returns the status that readers see: an issued pass expires at `expiresAt`, even before the sweep stores it. */
export function effectiveStatus(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  return pass.status === 'ISSUED' && pass.expiresAt !== null && at >= pass.expiresAt ? 'EXPIRED' : pass.status
}

/** Returns the status that readers saw at an earlier time: a pass that expired later was still issued then. */
export function statusAsOf(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  const wasIssued = pass.status === 'EXPIRED' && pass.expiresAt !== null && at < pass.expiresAt
  return wasIssued ? 'ISSUED' : effectiveStatus(pass, at)
}

/** Whether a pass in this status has hosted links. */
export function isInstallable(status: PassStatus): boolean {
  return status === 'QUEUED' || status === 'ISSUING' || status === 'ISSUED'
}
