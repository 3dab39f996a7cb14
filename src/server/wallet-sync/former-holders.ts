import type { Card } from '../../core/rules/display/card.ts'
import type { Job } from '../../storage/jobs/jobs.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'
import { asKind, kindOf } from '../../wallets/google/resource.ts'
import type { JobServices, Repositories, Services } from '../context.ts'
import type { Slot } from '../jobs/worker.ts'
import { tellHolders } from './holders.ts'
import { callGoogle, eachJob, type GoogleServices } from './platform-calls.ts'
import type { PushServices } from './push.ts'
import { type ToldPhones, tellPhones } from './update-wallets.ts'

type ExpiryServices = GoogleServices & Pick<Services, 'issuing'>

/**
 * What wallets of the former holder have is over; they are told. In the transaction of the transfer, which holds the pass.
 * @param pass as its former holder had it, with the card that it showed
 */
export async function endFormer(
  tx: Repositories,
  pass: StoredPass,
  { card, now, correlationId }: { card: Card; now: Date; correlationId: string | null },
): Promise<void> {
  const { workspaceId, id: subject, templateVersionId } = pass
  const isAtApple = await tx.formerPasses.insert(pass, now)
  const isAtGoogle = await tx.googleObjects.transfer(workspaceId, subject, { kind: kindOf(card), templateVersionId })
  if (isAtApple) await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-apple', subject, correlationId }], now)
  if (isAtGoogle) await tx.jobs.insertOnce([{ workspaceId, kind: 'expire-google', subject, correlationId }], now)
  if (isAtApple || isAtGoogle) await tellHolders(tx, workspaceId, [subject], { at: now, correlationId })
}

/** Tells the phones of Apple of former holders that their passes are over; they fetch them by themselves. */
export function updateFormerWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return tellPhones(jobs, phonesOfFormerHolders, services, slot)
}

const phonesOfFormerHolders: ToldPhones = {
  passesOf: ({ formerPasses }) => formerPasses,
  record: (tx, workspaceId, { sent }) => tx.formerPasses.setPushed(workspaceId, sent),
}

/** Expires the objects of former holders at Google, and takes off them what they say of anybody. */
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
      const shown = asKind({ ...rendered, googleSuffix: objectSuffix }, kind)
      const { classId: _, ...object } = wallet.objectOf(shown, clock())
      await api.bulk.expireObject(kind, object)
      await store.statement((tx) => tx.googleObjects.setRetired(workspaceId, passId, objectSuffix, clock()))
    }
  }
  return callGoogle(job, { identityId: pass.googleIdentityId, call: retire, slot }, services)
}
