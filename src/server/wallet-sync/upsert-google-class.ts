import type { Job } from '../../storage/jobs/jobs.ts'
import type { Services } from '../context.ts'
import { toJobError } from './google-job-error.ts'

/** Makes the class of a published version known to Google, so that the first save needs one call less. */
export async function upsertGoogleClasses(jobs: Job[], { store, google }: Services): Promise<void> {
  for (const job of jobs) {
    const [version] = await store.templateVersions.listByIds(job.workspaceId, [job.subject])
    try {
      if (version && google) await google.upsertClass(job.workspaceId, version)
    } catch (error) {
      throw toJobError(error)
    }
    await store.transaction((tx) => tx.jobs.complete([job]))
  }
}
