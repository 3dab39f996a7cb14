/** Seconds until a job that failed for the n-th time runs again: 2, 4, 8 … up to 5 minutes. */
export function jobBackoffSeconds(attempts: number): number {
  return Math.min(2 ** Math.min(attempts, 9), 300)
}

/** After so many failed runs a job is set aside for an operator. */
export const MAX_JOB_ATTEMPTS = 20

/** After so many leases that ended while a worker held it a job is quarantined: it may be what stops them. */
export const MAX_JOB_LAPSES = 3

/** One that has lapsed so often runs while its process does nothing else: the next lapse will be its own fault. */
export const LAPSES_TO_RUN_ALONE = MAX_JOB_LAPSES - 1

/** What is then said of it, and of the pass or notification that it was to care for. */
export const QUARANTINE_REASON = `The worker stopped or hung ${MAX_JOB_LAPSES} times while it ran this job.`

/** After so many runs, some four minutes, a notification that no provider takes has FAILED: it would come too late. */
export const MAX_SEND_ATTEMPTS = 8
