import type { Job } from '../../storage/jobs/jobs.ts'
import { isRefused } from '../../wallets/google/api/api-error.ts'
import type { Services } from '../context.ts'
import { logPlatformCall } from '../jobs/log-platform-call.ts'
import { isHeldBack, nackFailed } from '../jobs/nack.ts'
import { toJobError } from './google-job-error.ts'
import { type GoogleSync, refusalOf } from './google-sync.ts'

/** Sends Google the objects of changed passes as they now stand. What Google has already is not sent again. */
export async function updateGoogleObjects(jobs: Job[], services: Services): Promise<void> {
  await Promise.all(jobs.map((job) => updateObject(job, services)))
}

async function updateObject(job: Job, services: Services): Promise<void> {
  const { store, google, clock } = services
  try {
    if (google) await sendIfOutdated(job, services, google)
    await store.statement((tx) => tx.jobs.complete([job]))
  } catch (cause) {
    const error = toJobError(cause)
    await store.transaction(async (tx) => {
      if ((await tx.jobs.lockHeld([job])).length === 0) return
      if (isRefused(cause)) {
        // Said on the pass, and sent again with its next change: there is nothing for an operator to retry.
        await tx.jobs.complete([job])
        await tx.refusals.insert(job.workspaceId, 'pass', job.subject, refusalOf(cause, clock()))
      } else {
        await nackFailed(tx, job, error, clock())
      }
      if (isHeldBack(error)) return
      const message = `GOOGLE_API_FAILED: ${error instanceof Error ? error.message : String(error)}`
      await tx.googleObjects.setError(job.workspaceId, job.subject, message)
    })
  }
}

async function sendIfOutdated(job: Job, { store, log }: Services, google: GoogleSync): Promise<void> {
  const { workspaceId, subject } = job
  const [object] = await store.googleObjects.list(workspaceId, [subject])
  const pass = object && (await store.passes.find(workspaceId, subject))
  if (!pass || object.sentVersion >= pass.walletVersion) return
  await google.update(pass, object)
  logPlatformCall(log, job, { provider: 'google', passId: pass.id, outcome: 'sent' })
}
