import { groupBy } from '../../core/group-by.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type {
  DroppedRegistration,
  OutdatedRegistration,
  StoredRegistration,
} from '../../storage/passes/registrations.ts'
import type { Store } from '../../storage/store.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import type { JobServices, Repositories, Services } from '../context.ts'
import type { CallOutcome } from '../identities/breakers.ts'
import { allFailed } from '../identities/lazy-push.ts'
import { nackFailed, type Slot } from '../jobs/worker.ts'
import { emitRemovals } from './holders.ts'
import { eachIdentity, holdBack, logPlatformCall } from './platform-calls.ts'

/** The storage of the phones that receive pushes: either the phones of current holders or those of former holders. */
interface PushedPhones {
  passesOf(repositories: Repositories): Pick<Repositories['registrations'], 'bumpUpdateTag' | 'listOutdated'>
  /** Records the results of pushes, in the transaction that completes their jobs. */
  record(tx: Repositories, workspaceId: string, outcomes: PushOutcomes<OutdatedRegistration>, at: Date): Promise<void>
}

/** Pushes to the Apple devices that hold changed passes. Retries only failed pushes. */
export function updateWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfHolders, services, slot)
}

const phonesOfHolders: PushedPhones = {
  passesOf: ({ registrations }) => registrations,
  async record(tx, workspaceId, outcomes, at) {
    const sent = outcomes.sent.map((one) => ({ ...one, version: one.walletVersion }))
    // Lock nudges before devices, as nudgeSilent does. The reverse order could deadlock.
    await tx.nudges.insert(workspaceId, sent, at)
    await recordPushes(tx, workspaceId, { ...outcomes, sent }, at)
  },
}

/** Pushes to the Apple devices of former holders. The devices then fetch the void passes. */
export function updateFormerWallets(jobs: Job[], services: JobServices & PushServices, slot?: Slot): Promise<void> {
  return pushToPhones(jobs, phonesOfFormerHolders, services, slot)
}

const phonesOfFormerHolders: PushedPhones = {
  passesOf: ({ formerPasses }) => formerPasses,
  record: (tx, workspaceId, { sent }) => tx.formerPasses.setPushed(workspaceId, sent),
}

/** Pushes to the outdated phones of the jobs' passes, and completes the jobs. A job with a failed push runs again. */
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

/** Bumps the update tag before the push, so that a phone that immediately requests changes receives this one. */
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

/** Pushes to the phones of passes of one identity. Snoozes the jobs whose pushes the breaker does not admit. */
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
  const pushed = jobs.map((job) => ({ job, passId: job.subject }))
  logPushes(pushed, outcomes, services)
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
    // If the identity is paused, do not count an attempt. The jobs run again when the pause ends (decisions/0019).
    if (pausedUntil) await tx.jobs.snooze(failed, pausedUntil)
    else for (const job of failed) await nackFailed(tx, job, new Error(errors.get(job.subject)), at)
    await emitRemovals(tx, dropped, at)
    return dropped
  })
  droppedRegistrations.note(dropped, results.all)
}

/** The maximum number of phones in memory and in one transaction. One pass can have 10,000 phones. */
const MOST_DEVICES = 20_000

/** Splits items about passes into parts of at most MOST_DEVICES phones (decisions/0003). */
export async function inParts<Item>(
  workspaceId: string,
  items: Item[],
  passIdOf: (item: Item) => string,
  { heldPasses }: Pick<Store, 'heldPasses'>,
): Promise<Item[][]> {
  if (items.length < 2) return [items]
  const devices = await heldPasses.countDevices(workspaceId, items.map(passIdOf))
  const parts: Item[][] = [[]]
  let phones = 0
  for (const item of items) {
    const count = devices.get(passIdOf(item)) ?? 0
    if (phones > 0 && phones + count > MOST_DEVICES) {
      parts.push([])
      phones = 0
    }
    parts.at(-1)!.push(item)
    phones += count
  }
  return parts
}

function eachPushIdentity(
  jobs: Job[],
  outdated: OutdatedRegistration[],
  work: (jobs: Job[], outdated: OutdatedRegistration[]) => Promise<void>,
): Promise<void> {
  const identities = new Map(outdated.map(({ passId, appleIdentityId }) => [passId, appleIdentityId]))
  // Jobs without phones belong to no identity. Complete them together with the jobs of the first identity.
  const [first = null] = identities.values()
  const identityOf = ({ subject }: Job) => identities.get(subject) ?? (identities.has(subject) ? null : first)
  return eachIdentity(jobs, identityOf, (some) => {
    const ours = new Set(some.map(({ subject }) => subject))
    const phones = outdated.filter(({ passId }) => ours.has(passId))
    return work(some, phones)
  })
}

/**
 * Returns the jobs that can run now: all jobs without phones, and as many others as the breaker of the Apple identity
 * admits. Snoozes the remaining jobs.
 * @param outdated phones of the passes, all of one identity
 */
async function admitPushes(
  jobs: Job[],
  outdated: OutdatedRegistration[],
  services: Pick<Services, 'store' | 'clock' | 'breakers'>,
): Promise<{ jobs: Job[]; outdated: OutdatedRegistration[] }> {
  const [first] = outdated
  if (!first) return { jobs, outdated }
  const { appleIdentityId: identityId } = first
  const { most, until } = services.breakers.of('apple', identityId).admit()
  const passIds = new Set(outdated.map(({ passId }) => passId))
  const admitted = new Set([...passIds].slice(0, most))
  const isHeld = (passId: string) => passIds.has(passId) && !admitted.has(passId)
  const held = jobs.filter(({ subject }) => isHeld(subject))
  if (held.length > 0) await holdBack(held, { platform: 'apple', identityId, until }, services)
  return {
    jobs: jobs.filter(({ subject }) => !isHeld(subject)),
    outdated: outdated.filter(({ passId }) => admitted.has(passId)),
  }
}

interface Pushed {
  pushToken: string
  appleIdentityId: string | null
}

/** Results of pushes, by token and identity, because several identities can push to the same token. */
export interface PushResults {
  of(pushed: Pushed): PushResult | undefined
  /** Tokens that are no longer valid, by identity. */
  gone: { identityId: string | null; pushTokens: string[] }[]
  all: PushResult[]
}

export type PushServices = Pick<Services, 'push' | 'identities' | 'breakers' | 'droppedRegistrations'>

interface PushOptions {
  /** The worker's slot of this batch. If a push hangs, the slot is freed for another batch. */
  slot?: Slot | undefined
  /** Whether the breaker has admitted these pushes. By default, pushes of a paused identity fail immediately. */
  isAdmitted?: boolean
}

/**
 * Sends pushes to devices. Each push uses the connection of its identity, and covers all passes of this identity on the
 * device. If an identity is not usable or reachable, only the pushes of this identity fail.
 */
export async function pushTo(
  pushes: Pushed[],
  services: PushServices,
  options: PushOptions = {},
): Promise<PushResults> {
  const byIdentity = groupBy(pushes, ({ appleIdentityId }) => appleIdentityId)
  const sent = await Promise.all(
    [...byIdentity].map(async ([id, ofIdentity]) => {
      const tokens = new Set(ofIdentity.map(({ pushToken }) => pushToken))
      return [id, await sendOf(id, [...tokens], services, options)] as const
    }),
  )
  const results = new Map(
    sent.map(([id, some]) => [id, new Map(some.map((result) => [result.pushToken, result]))] as const),
  )
  return {
    of: ({ pushToken, appleIdentityId }) => results.get(appleIdentityId)?.get(pushToken),
    gone: sent.map(([identityId, some]) => ({
      identityId,
      pushTokens: some.filter(({ outcome }) => outcome === 'gone').map(({ pushToken }) => pushToken),
    })),
    all: sent.flatMap(([, some]) => some),
  }
}

async function sendOf(
  id: string | null,
  pushTokens: string[],
  { push, identities, breakers }: PushServices,
  { slot, isAdmitted = false }: PushOptions,
): Promise<PushResult[]> {
  const breaker = breakers.of('apple', id)
  if (!isAdmitted && breaker.admit().most === 0)
    return allFailed(pushTokens, 'APNs does not respond to requests with the identity of the pass')
  async function send(): Promise<PushResult[]> {
    try {
      const own = id === null ? push : (await identities.of('apple', id))?.push
      return (await own?.send(pushTokens)) ?? []
    } catch (error) {
      if (id === null) throw error
      return allFailed(pushTokens, (error as Error).message)
    }
  }
  return breaker.run(send, { outcomeOf, reasonOf: ([first]) => first?.reason ?? undefined, onHang: slot?.leave })
}

/** The reasons for which APNs rejects only the device or the message. They show that APNs accepts the identity. */
const ofDevice: (string | null)[] = ['DeviceTokenNotForTopic', 'TooManyRequests']

function outcomeOf(result: { value: PushResult[] } | { error: unknown }): CallOutcome {
  if (!('value' in result)) return 'failed'
  if (result.value.length === 0) return null
  const isAnswered = ({ outcome, reason }: PushResult) => outcome !== 'failed' || ofDevice.includes(reason)
  return result.value.some(isAnswered) ? 'answered' : 'failed'
}

/** Registrations by the outcome of their push. Failures are grouped by error, because most have the same error. */
export interface PushOutcomes<Registration> {
  sent: Registration[]
  failed: Map<string, Registration[]>
}

export function groupByOutcome<Registration extends Pushed>(
  registrations: Registration[],
  results: PushResults,
): PushOutcomes<Registration> {
  const outcomeOf = (registration: Registration) => results.of(registration)?.outcome ?? 'failed'
  const failed = registrations.filter((registration) => outcomeOf(registration) === 'failed')
  return {
    sent: registrations.filter((registration) => outcomeOf(registration) === 'sent'),
    failed: groupBy(failed, (one) => `APPLE_APNS_FAILED: ${results.of(one)?.reason ?? 'no response'}`),
  }
}

export function errorsByPass({ failed }: PushOutcomes<{ passId: string }>): Map<string, string> {
  return new Map([...failed].flatMap(([error, some]) => some.map(({ passId }) => [passId, error])))
}

type Device = Pick<StoredRegistration, 'passId' | 'deviceId'>

/** Records the results of pushes to current holders on their registrations. */
export async function recordPushes(
  tx: Repositories,
  workspaceId: string,
  { sent, failed }: { sent: (Device & { pushedVersion: number; version: number })[]; failed: Map<string, Device[]> },
  at: Date,
): Promise<void> {
  await tx.registrations.setPushed(workspaceId, sent, at)
  for (const [error, some] of failed) await tx.registrations.setErrors(workspaceId, some, error)
}

/** Deletes the registrations with tokens that are no longer valid, and returns the registrations. */
export async function dropGone(tx: Repositories, { gone }: PushResults): Promise<DroppedRegistration[]> {
  const dropped: DroppedRegistration[] = []
  for (const { identityId, pushTokens } of gone) {
    dropped.push(...(await tx.registrations.deleteByTokens(pushTokens, identityId)))
  }
  return dropped
}

/** Logs the outcome of the pushes for each pass. Skips a pass without a valid token. */
export function logPushes(
  pushed: { job: Job; passId: string }[],
  outcomes: PushOutcomes<{ passId: string }>,
  { log }: Pick<JobServices, 'log'>,
): void {
  const sent = new Set(outcomes.sent.map(({ passId }) => passId))
  const errors = errorsByPass(outcomes)
  for (const { job, passId } of pushed) {
    if (!sent.has(passId) && !errors.has(passId)) continue
    logPlatformCall(log, job, { provider: 'apns', passId, outcome: errors.has(passId) ? 'failed' : 'sent' })
  }
}
