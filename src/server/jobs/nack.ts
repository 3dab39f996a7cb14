import { DiscardError, RescheduleError } from '../../core/errors.ts'
import { jobBackoffSeconds, MAX_JOB_ATTEMPTS } from '../../core/rules/sending/retry.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'

/**
 * What becomes of a job that threw: it runs again later, longer each time and no sooner than a RescheduleError wants; after
 * the last try it is set aside for an operator, and at once by a DiscardError. Resolves to whether this was the end of it.
 */
export async function nackFailed(tx: Repositories, job: Job, error: unknown, at: Date): Promise<boolean> {
  const wantedSeconds = error instanceof RescheduleError ? error.retryAfterSeconds : 0
  if (isHeldBack(error)) {
    await tx.jobs.snooze([job], inSeconds(at, Math.max(wantedSeconds, 1)))
    return false
  }
  const message = error instanceof Error ? error.message : String(error)
  // A worker whose lease ended has nothing to give up.
  if (job.attempts >= MAX_JOB_ATTEMPTS || error instanceof DiscardError) return tx.jobs.fail([job], at, message)
  await tx.jobs.retry([job], inSeconds(at, Math.max(jobBackoffSeconds(job.attempts), wantedSeconds)), message)
  return false
}

/** True where nothing was tried: that is no failure. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof RescheduleError && !error.countsAsAttempt
}

function inSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}
