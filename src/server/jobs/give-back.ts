import { jobBackoffSeconds, MAX_JOB_ATTEMPTS } from '../../core/rules/sending/retry.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories } from '../../storage/store.ts'
import { GoogleApiError, isPassing } from '../../wallets/google/api/api-error.ts'

/**
 * What becomes of a job that threw: it runs again later, longer each time and no sooner than the platform wants; after the
 * last try it is set aside for an operator, and at once where a platform says no for another reason than being busy: only
 * somebody who changes something can help. One that our own pacing held back has not been tried at all. Resolves to
 * whether this was the end of it.
 */
export async function giveBack(tx: Repositories, job: Job, error: unknown, at: Date): Promise<boolean> {
  const wantedSeconds = error instanceof GoogleApiError ? (error.retryAfterSeconds ?? 0) : 0
  if (isHeldBack(error)) {
    await tx.jobs.putOff([job], inSeconds(at, Math.max(wantedSeconds, 1)))
    return false
  }
  const message = error instanceof Error ? error.message : String(error)
  // A worker whose lease ended has nothing to give up.
  if (job.attempts >= MAX_JOB_ATTEMPTS || !isPassing(error)) return tx.jobs.fail([job], at, message)
  await tx.jobs.retry([job], inSeconds(at, Math.max(jobBackoffSeconds(job.attempts), wantedSeconds)), message)
  return false
}

/** True for a request that never left, since more of them wait than the platform takes. */
export function isHeldBack(error: unknown): boolean {
  return error instanceof GoogleApiError && error.kind === 'quota' && error.status === null
}

function inSeconds(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}
