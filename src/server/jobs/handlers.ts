import type { JobKind } from '../../storage/jobs.ts'
import { detachProjects } from './detach-project.ts'
import { failPass, issuePasses } from './issue-pass.ts'
import { updateWallets } from './update-wallet.ts'
import { upsertGoogleClasses } from './upsert-google-class.ts'
import type { GiveUp, JobHandler } from './worker.ts'

/** What each kind of job does. */
export const jobHandlers: Record<JobKind, JobHandler> = {
  'issue-pass': issuePasses,
  'update-wallet': updateWallets,
  'upsert-google-class': upsertGoogleClasses,
  'detach-project': detachProjects,
}

/** What is left to write when a job failed for the last time. */
export const giveUp: Partial<Record<JobKind, GiveUp>> = { 'issue-pass': failPass }
