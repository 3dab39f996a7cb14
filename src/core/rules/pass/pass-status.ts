export const passStatuses = ['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'] as const
/**
 * A pass is QUEUED until a worker takes it (ISSUING), then ISSUED or FAILED. An ISSUED pass becomes EXPIRED at its
 * expiry. Any pass can become VOID, permanently.
 */
export type PassStatus = (typeof passStatuses)[number]

/** Returns the visible status: an issued pass is EXPIRED from `expiresAt` on, even before the stored status changes. */
export function effectiveStatus(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  return pass.status === 'ISSUED' && pass.expiresAt !== null && at >= pass.expiresAt ? 'EXPIRED' : pass.status
}

/** Returns the status that was visible at an earlier time: a pass that expired later was still ISSUED at that time. */
export function statusAsOf(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  const wasIssued = pass.status === 'EXPIRED' && pass.expiresAt !== null && at < pass.expiresAt
  return wasIssued ? 'ISSUED' : effectiveStatus(pass, at)
}

/** Whether a pass in this status has hosted links. */
export function isInstallable(status: PassStatus): boolean {
  return isUnissued(status) || status === 'ISSUED'
}

/** Whether a worker will issue, or is issuing, a pass in this status. */
export function isUnissued(status: PassStatus): boolean {
  return status === 'QUEUED' || status === 'ISSUING'
}
