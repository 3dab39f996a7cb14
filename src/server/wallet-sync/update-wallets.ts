import type { Job } from '../../storage/jobs/jobs-repository.ts'
import { asFormer } from '../../storage/passes/former-passes.ts'
import type { OutdatedRegistration } from '../../storage/passes/registrations.ts'
import { isRejected, rejectionOf } from '../../wallets/google/api/api-error.ts'
import { asKind } from '../../wallets/google/resource.ts'
import type { JobServices, Repositories, Services } from '../context.ts'
import { isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { GoogleSync } from './google-sync.ts'
import { emitRemovals, inParts } from './holders.ts'
import {
  admitPushes,
  callGoogle,
  eachJob,
  eachPushIdentity,
  type GoogleServices,
  logPlatformCall,
  toJobError,
} from './platform-calls.ts'
import {
  dropGone,
  errorsByPass,
  groupByOutcome,
  logPushes,
  type PushOutcomes,
  type PushServices,
  pushTo,
  recordPushes,
} from './push-phones.ts'

/** The phones to push: those of current or former holders. */
interface PushedPhones {
  passesOf(repositories: Repositories): Pick<Repositories['registrations'], 'bumpUpdateTag' | 'listOutdated'>
  /** Records the results of pushes, in the transaction that completes their jobs. */
  record(tx: Repositories, workspaceId: string, outcomes: PushOutcomes<OutdatedRegistration>, at: Date): Promise<void>
}

/** Pushes the Apple devices that hold a changed pass. Failed pushes are retried, and successful ones are not. */
export function updateWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfHolders, services, slot)
}

const phonesOfHolders: PushedPhones = {
  passesOf: ({ registrations }) => registrations,
  async record(tx, workspaceId, outcomes, at) {
    const sent = outcomes.sent.map((one) => ({ ...one, version: one.walletVersion }))
    // Lock nudges before devices, in the order of nudgeSilent.
    await tx.nudges.insert(workspaceId, sent, at)
    await recordPushes(tx, workspaceId, { ...outcomes, sent }, at)
  },
}

/** Pushes the Apple devices of former holders, which then fetch their void passes. */
export function updateFormerWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfFormerHolders, services, slot)
}

const phonesOfFormerHolders: PushedPhones = {
  passesOf: ({ formerPasses }) => formerPasses,
  record: (tx, workspaceId, { sent }) => tx.formerPasses.setPushed(workspaceId, sent),
}

/** Pushes outdated phones of the passes of jobs, and completes the jobs. A job with a failed push runs again. */
async function pushToPhones(
  jobs: Job[],
  phones: PushedPhones,
  services: JobServices & PushServices,
  slot: Slot | undefined,
): Promise<void> {
  const { workspaceId } = jobs[0]!
  for (const part of await inParts(workspaceId, jobs, ({ subject }) => subject, services.store)) {
    const outdated = await bumpAndListOutdated(workspaceId, part, phones, services)
    await eachPushIdentity(part, outdated, (some, ofIdentity) =>
      pushOfIdentity(workspaceId, some, ofIdentity, { phones, services, slot }),
    )
  }
}

/** Bumps the update tag before the push, so that a phone that asks immediately receives the change. */
async function bumpAndListOutdated(
  workspaceId: string,
  jobs: Job[],
  { passesOf }: PushedPhones,
  { store, push }: JobServices & PushServices,
): Promise<OutdatedRegistration[]> {
  const passIds = [...new Set(jobs.map((job) => job.subject))]
  await store.transaction((tx) => passesOf(tx).bumpUpdateTag(workspaceId, passIds))
  return push ? passesOf(store).listOutdated(workspaceId, passIds) : []
}

/** Pushes the phones of passes of one identity, as far as its breaker admits them. The other jobs are snoozed. */
async function pushOfIdentity(
  workspaceId: string,
  given: Job[],
  all: OutdatedRegistration[],
  { phones, services, slot }: { phones: PushedPhones; services: JobServices & PushServices; slot: Slot | undefined },
): Promise<void> {
  const { store, clock, droppedRegistrations, breakers } = services
  const { jobs, outdated } = await admitPushes(given, all, services)
  if (jobs.length === 0) return
  const results = await pushTo(outdated, services, { slot, isAdmitted: true })
  const outcomes = groupByOutcome(outdated, results)
  logPushes(
    jobs.map((job) => ({ job, passId: job.subject })),
    outcomes,
    services,
  )
  const pausedUntil = breakers.of('apple', outdated[0]?.appleIdentityId ?? null).pausedUntil()

  const errors = errorsByPass(outcomes)
  const dropped = await store.transaction(async (tx) => {
    const at = clock()
    const done = await tx.jobs.complete(jobs.filter(({ subject }) => !errors.has(subject)))
    const failed = await tx.jobs.lockHeld(jobs.filter(({ subject }) => errors.has(subject)))
    const ours = new Set([...done, ...failed].map(({ subject }) => subject))
    const dropped = await dropGone(tx, results)
    const held = outdated.filter(({ passId }) => ours.has(passId))
    await phones.record(tx, workspaceId, groupByOutcome(held, results), at)
    // If the identity is paused, the jobs have not failed, and run again when the pause ends (decisions/0019).
    if (pausedUntil) await tx.jobs.snooze(failed, pausedUntil)
    else for (const job of failed) await nackFailed(tx, job, new Error(errors.get(job.subject)), at)
    await emitRemovals(tx, dropped, at)
    return dropped
  })
  droppedRegistrations.note(dropped, results.all)
}

/** Sends the current objects of changed passes to Google. Unchanged objects are not sent. */
export function updateGoogleObjects(jobs: Job[], services: GoogleServices, slot?: Slot): Promise<void> {
  const { google } = services
  const update = async (job: Job) => (google ? sendIfOutdated(job, services, { google, slot }) : 'done')
  return eachJob(jobs, update, services, async (tx, job, cause, at) => {
    const error = toJobError(cause)
    if (isRejected(cause)) {
      // Complete the job, because a retry by an operator would fail again. The rejection is recorded on the pass, which
      // is sent again with its next change.
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
 * Sends the classes of published versions, so that they exist before the first save, and the classes of class keys
 * whose values changed.
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
