import type { JobKind, Lane } from '../../storage/jobs.ts'
import { detachProjects } from './detach-project.ts'
import { failPass, issuePasses } from './issue-pass.ts'
import { updateWallets } from './update-wallet.ts'
import { upsertGoogleClasses } from './upsert-google-class.ts'
import type { GiveUp, JobHandler, LaneOptions } from './worker.ts'

/** What each kind of job does. */
export const jobHandlers: Record<JobKind, JobHandler> = {
  'issue-pass': issuePasses,
  'update-wallet': updateWallets,
  'upsert-google-class': upsertGoogleClasses,
  'detach-project': detachProjects,
}

/** What is left to write when a job failed for the last time. */
export const giveUp: Partial<Record<JobKind, GiveUp>> = { 'issue-pass': failPass }

/** How much of each lane is in flight at once. A batch that fails to reach a provider must not idle its whole lane. */
export const laneOptions: Record<Lane, LaneOptions> = {
  issuing: { batchSize: 100, batches: 1 },
  wallets: { batchSize: 100, batches: 4 },
  upkeep: { batchSize: 10, batches: 1 },
}
