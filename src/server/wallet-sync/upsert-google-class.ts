import type { Job } from '../../storage/jobs/jobs.ts'
import type { Services } from '../context.ts'
import { toJobError } from './google-job-error.ts'

/**
 * Makes classes known to Google: those of published versions, so that the first save needs one call less, and those that
 * passes of a key share, when an update changed what stands in them.
 */
export async function upsertGoogleClasses(jobs: Job[], { store, google }: Services): Promise<void> {
  for (const { workspaceId, subject } of jobs) {
    const [ofClass] = await store.googleClasses.list(workspaceId, [subject])
    const versionId = ofClass?.templateVersionId ?? subject
    const [version] = await store.templateVersions.listByIds(workspaceId, [versionId])
    try {
      if (version && google) await google.upsertClass(workspaceId, version, ofClass)
    } catch (error) {
      throw toJobError(error)
    }
  }
  await store.statement((tx) => tx.jobs.complete(jobs))
}
