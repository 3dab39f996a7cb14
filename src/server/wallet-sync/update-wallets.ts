import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { DroppedRegistration, OutdatedRegistration } from '../../storage/passes/registrations.ts'
import { isRejected, rejectionOf } from '../../wallets/google/api/api-error.ts'
import type { JobServices, Repositories } from '../context.ts'
import { allEnded } from '../jobs/all-ended.ts'
import { isHeldBack, nackFailed, type Slot } from '../jobs/worker.ts'
import type { GoogleSync } from './google-sync.ts'
import { inParts, tellDropped } from './holders.ts'
import {
  admitPushes,
  callGoogle,
  eachJob,
  eachPushIdentity,
  type GoogleServices,
  logPlatformCall,
  toJobError,
} from './platform-calls.ts'
import { type PushResults, type PushServices, pushTo } from './push-phones.ts'

/** The phones to push: those of current or former holders. */
export interface PushedPhones {
  passesOf(repositories: Repositories): PassesToTell
  /** Records the results of pushes, in the transaction that completes their jobs. */
  record(tx: Repositories, workspaceId: string, pushes: Outcomes, at: Date): Promise<void>
}

type PassesToTell = Pick<Repositories['registrations'], 'bumpUpdateTag' | 'listOutdated'>
type Outcomes = ReturnType<typeof groupByOutcome>

/**
 * Pushes the Apple devices that hold a changed pass, which then fetch it. Failed pushes are retried, and successful
 * ones are not repeated.
 */
export function updateWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfHolders, services, slot)
}

const phonesOfHolders: PushedPhones = {
  passesOf: ({ registrations }) => registrations,
  async record(tx, workspaceId, { sent, failed }, at) {
    const pushes = sent.map((one) => ({ ...one, version: one.walletVersion }))
    // Lock nudges before devices, in the order of nudgeSilent.
    await tx.nudges.insert(workspaceId, pushes, at)
    await tx.registrations.setPushed(workspaceId, pushes, at)
    for (const [error, some] of failed) await tx.registrations.setErrors(workspaceId, some, error)
  },
}

/** Pushes outdated phones of the passes of jobs, and completes the jobs. A job with a failed push runs again. */
export async function pushToPhones(
  jobs: Job[],
  phones: PushedPhones,
  services: JobServices & PushServices,
  slot: Slot | undefined,
): Promise<void> {
  const workspaceIds = [...new Set(jobs.map((job) => job.workspaceId))]
  await Promise.all(
    workspaceIds.map(async (workspaceId) => {
      const ours = jobs.filter((job) => job.workspaceId === workspaceId)
      for (const part of await inParts(workspaceId, ours, ({ subject }) => subject, services.store)) {
        const outdated = await bumpAndListOutdated(workspaceId, part, phones, services)
        await eachPushIdentity(part, outdated, (some, ofIdentity) =>
          pushOfIdentity(workspaceId, some, ofIdentity, { phones, services, slot }),
        )
      }
    }),
  )
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

/** Pushes the phones of passes of one identity, as far as its breaker admits them. The other jobs wait. */
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
  logPushes(jobs, groupByOutcome(outdated, results), services)
  const pausedUntil = breakers.of('apple', outdated[0]?.appleIdentityId ?? null).pausedUntil()

  const errors = new Map(
    [...groupByOutcome(outdated, results).failed].flatMap(([error, some]) => some.map(({ passId }) => [passId, error])),
  )
  const dropped = await store.transaction(async (tx) => {
    const at = clock()
    const done = await tx.jobs.complete(jobs.filter(({ subject }) => !errors.has(subject)))
    const failed = await tx.jobs.lockHeld(jobs.filter(({ subject }) => errors.has(subject)))
    const ours = new Set([...done, ...failed].map(({ subject }) => subject))
    const dropped = await dropGone(tx, results)
    const held = outdated.filter(({ passId }) => ours.has(passId))
    await phones.record(tx, workspaceId, groupByOutcome(held, results), at)
    // A pause of the identity is no failure of the jobs: they run again when it ends (decisions/0019).
    if (pausedUntil) await tx.jobs.snooze(failed, pausedUntil)
    else for (const job of failed) await nackFailed(tx, job, new Error(errors.get(job.subject)), at)
    await tellDropped(tx, dropped, at)
    return dropped
  })
  droppedRegistrations.note(dropped, results.all)
}

function logPushes(jobs: Job[], { sent, failed }: Outcomes, { log }: JobServices): void {
  const outcomes = new Map<string, 'sent' | 'failed'>(sent.map(({ passId }) => [passId, 'sent']))
  for (const { passId } of [...failed.values()].flat()) outcomes.set(passId, 'failed')
  for (const job of jobs) {
    const outcome = outcomes.get(job.subject)
    if (outcome) logPlatformCall(log, job, { provider: 'apns', passId: job.subject, outcome })
  }
}

/** Groups registrations by the outcome of their push, and failed ones by error, since most share one. */
function groupByOutcome(registrations: OutdatedRegistration[], results: PushResults) {
  const sent: OutdatedRegistration[] = []
  const failed = new Map<string, OutdatedRegistration[]>()
  for (const registration of registrations) {
    const { outcome = 'failed', reason = 'no answer' } = results.of(registration) ?? {}
    if (outcome === 'sent') sent.push(registration)
    if (outcome !== 'failed') continue
    const error = `APPLE_APNS_FAILED: ${reason}`
    failed.set(error, [...(failed.get(error) ?? []), registration])
  }
  return { sent, failed }
}

export async function dropGone(tx: Repositories, { gone }: Pick<PushResults, 'gone'>): Promise<DroppedRegistration[]> {
  const dropped: DroppedRegistration[] = []
  for (const { identityId, pushTokens } of gone) {
    dropped.push(...(await tx.registrations.deleteByTokens(pushTokens, identityId)))
  }
  return dropped
}

/** Sends the current objects of changed passes to Google. Unchanged ones are not sent. */
export async function updateGoogleObjects(jobs: Job[], services: GoogleServices, slot?: Slot): Promise<void> {
  await allEnded(jobs.map((job) => updateObject(job, services, slot)))
}

async function updateObject(job: Job, services: GoogleServices, slot: Slot | undefined): Promise<void> {
  const { store, google, clock } = services
  try {
    if (google && (await sendIfOutdated(job, services, { google, slot })) === 'held') return
    await store.statement((tx) => tx.jobs.complete([job]))
  } catch (cause) {
    const error = toJobError(cause)
    await store.transaction(async (tx) => {
      if ((await tx.jobs.lockHeld([job])).length === 0) return
      if (isRejected(cause)) {
        // The rejection is recorded on the pass, which is sent again with its next change. There is nothing for an
        // operator to retry.
        await tx.jobs.complete([job])
        await tx.rejections.insert(job.workspaceId, 'pass', job.subject, rejectionOf(cause, clock()))
      } else {
        await nackFailed(tx, job, error, clock())
      }
      if (isHeldBack(error)) return
      const message = `GOOGLE_API_FAILED: ${error instanceof Error ? error.message : String(error)}`
      await tx.googleObjects.setError(job.workspaceId, job.subject, message)
    })
  }
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
 * Sends classes to Google: those of published versions, so that the first save needs one call less, and those of class
 * keys whose values changed.
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
