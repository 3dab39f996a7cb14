import type { Job } from '../../storage/jobs/jobs-repository.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import { asKind } from '../../wallets/google/resource.ts'
import type { JobServices, Services } from '../context.ts'
import type { Slot } from '../jobs/worker.ts'
import { callGoogle, eachJob, type GoogleServices } from './platform-calls.ts'
import type { PushServices } from './push-phones.ts'
import { type PushedPhones, pushToPhones } from './update-wallets.ts'

type ExpiryServices = GoogleServices & Pick<Services, 'issuing'>

/** Pushes the Apple devices of former holders, which then fetch their void passes. */
export function updateFormerWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfFormerHolders, services, slot)
}

const phonesOfFormerHolders: PushedPhones = {
  passesOf: ({ formerPasses }) => formerPasses,
  record: (tx, workspaceId, { sent }) => tx.formerPasses.setPushed(workspaceId, sent),
}

/** Expires the Google objects of former holders, and removes personal data from them. */
export function expireFormerObjects(jobs: Job[], services: ExpiryServices, slot?: Slot): Promise<void> {
  return eachJob(jobs, (job) => retireObjects(job, services, slot), services)
}

async function retireObjects(job: Job, services: ExpiryServices, slot: Slot | undefined): Promise<'held' | 'done'> {
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
