import type { Job } from '../../storage/jobs/jobs-repository.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import { isRejected, rejectionOf } from '../../wallets/google/api/api-error.ts'
import { asKind } from '../../wallets/google/resource.ts'
import type { Services } from '../context.ts'
import { isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { GoogleSync } from './google-sync.ts'
import { callGoogle, eachJob, type GoogleServices, logPlatformCall, toJobError } from './platform-calls.ts'

/** Sends the objects of changed passes to Google, unless their content is unchanged. */
export function updateGoogleObjects(jobs: Job[], services: GoogleServices, slot?: Slot): Promise<void> {
  const { google } = services
  const update = async (job: Job) => (google ? sendIfOutdated(job, services, { google, slot }) : 'done')
  return eachJob(jobs, update, services, async (tx, job, cause, at) => {
    const error = toJobError(cause)
    if (isRejected(cause)) {
      // Complete the job, because a retry by an operator would fail again. The rejection is recorded on the pass. The
      // next change of the pass sends it again.
      await tx.jobs.complete([job])
      await tx.rejections.insert(job.workspaceId, 'pass', job.subject, rejectionOf(cause, at))
    } else {
      await nackFailed(tx, job, error, at)
    }
    if (isHeldBack(error)) return
    const message = `GOOGLE_API_FAILED: ${error instanceof Error ? error.message : String(error)}`
    await tx.googleObjects.setError(job.workspaceId, job.subject, message)
  })
}

async function sendIfOutdated(
  job: Job,
  services: GoogleServices,
  { google, slot }: { google: GoogleSync; slot: Slot | undefined },
): Promise<'held' | 'done'> {
  const { store, log } = services
  const { workspaceId, subject } = job
  const [object] = await store.googleObjects.list(workspaceId, [subject])
  const pass = object && (await store.passes.find(workspaceId, subject))
  if (!pass || object.sentVersion >= pass.walletVersion) return 'done'
  const { googleIdentityId: identityId } = pass
  const call = async () => {
    if ((await google.update(pass, object)) === 'equal') return
    logPlatformCall(log, job, { provider: 'google', passId: pass.id, outcome: 'sent' })
  }
  return callGoogle(job, { identityId, call, slot }, services)
}

/**
 * Sends the classes of published versions, so that a class exists before a holder saves a pass. Also sends shared
 * classes whose values changed.
 */
export function upsertGoogleClasses(jobs: Job[], services: GoogleServices, slot?: Slot): Promise<void> {
  return eachJob(jobs, (job) => upsertOne(job, services, slot), services)
}

async function upsertOne(job: Job, services: GoogleServices, slot: Slot | undefined): Promise<'held' | 'done'> {
  const { store, google } = services
  const { workspaceId, subject } = job
  const [ofClass] = await store.googleClasses.list(workspaceId, [subject])
  const versionId = ofClass?.templateVersionId ?? subject
  const [version] = await store.templateVersions.listByIds(workspaceId, [versionId])
  const issuer = ofClass ? await store.googleClasses.findIssuer(workspaceId, ofClass.id) : version
  if (!version || !google || !issuer) return 'done'
  const call = () => google.upsertClass(workspaceId, version, { issuer, ofClass })
  return callGoogle(job, { identityId: issuer.googleIdentityId, call, slot }, services)
}

/** Expires the Google objects of former holders, and removes personal data from them. */
export function expireFormerObjects(
  jobs: Job[],
  services: GoogleServices & Pick<Services, 'issuing'>,
  slot?: Slot,
): Promise<void> {
  return eachJob(jobs, (job) => retireObjects(job, services, slot), services)
}

async function retireObjects(
  job: Job,
  services: GoogleServices & Pick<Services, 'issuing'>,
  slot: Slot | undefined,
): Promise<'held' | 'done'> {
  const { store, google, issuing, clock } = services
  const { workspaceId, subject: passId } = job
  const objects = await store.googleObjects.listTransferred(workspaceId, passId)
  const pass = objects.length > 0 ? await store.passes.find(workspaceId, passId) : undefined
  if (!pass || !google) return 'done'
  const retire = async () => {
    const { api, wallet } = await google.sideOf(pass)
    for (const { objectSuffix, kind, templateVersionId } of objects) {
      const rendered = await issuing.render(asFormer(pass, { templateVersionId }))
      const shown = asKind({ ...rendered, objectSuffix }, kind)
      const { classId: _, ...object } = wallet.objectOf(shown, clock())
      await api.bulk.expireObject(kind, object)
      await store.statement((tx) => tx.googleObjects.setRetired(workspaceId, passId, objectSuffix, clock()))
    }
  }
  return callGoogle(job, { identityId: pass.googleIdentityId, call: retire, slot }, services)
}
