/** Every status of a pass. */
export const passStatuses = ['QUEUED', 'ISSUING', 'ISSUED', 'VOID', 'FAILED', 'EXPIRED'] as const
/** QUEUED until a worker takes it (ISSUING), then ISSUED or FAILED; ISSUED ends as EXPIRED in time, and any as VOID, for good. */
export type PassStatus = (typeof passStatuses)[number]

/** The status that a reader sees: an issued pass is expired from expiresAt on, whether or not a sweep has said so. */
export function effectiveStatus(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  return pass.status === 'ISSUED' && pass.expiresAt !== null && at >= pass.expiresAt ? 'EXPIRED' : pass.status
}

/** The status that a reader saw at a moment of before: a pass that expired since was still issued then. */
export function statusAsOf(pass: { status: PassStatus; expiresAt: Date | null }, at: Date): PassStatus {
  const wasIssued = pass.status === 'EXPIRED' && pass.expiresAt !== null && at < pass.expiresAt
  return wasIssued ? 'ISSUED' : effectiveStatus(pass, at)
}

/** While installable, a pass has hosted links. */
export function isInstallable(status: PassStatus): boolean {
  return status === 'QUEUED' || status === 'ISSUING' || status === 'ISSUED'
}
