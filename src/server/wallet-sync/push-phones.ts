import { groupBy } from '../../core/group-by.ts'
import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { DroppedRegistration, StoredRegistration } from '../../storage/passes/registrations.ts'
import type { PushResult } from '../../wallets/apple/push.ts'
import type { JobServices, Repositories, Services } from '../context.ts'
import type { CallOutcome } from '../identities/breakers.ts'
import type { Slot } from '../jobs/worker.ts'
import { logPlatformCall } from './platform-calls.ts'

interface Pushed {
  pushToken: string
  appleIdentityId: string | null
}

/** Results of pushes, by token and identity, because several identities can know the same token. */
export interface PushResults {
  of(pushed: Pushed): PushResult | undefined
  /** Dead tokens by identity. */
  gone: { identityId: string | null; pushTokens: string[] }[]
  all: PushResult[]
}

export type PushServices = Pick<Services, 'push' | 'identities' | 'breakers' | 'droppedRegistrations'>

interface PushOptions {
  /** The slot of the batch, which is freed if a push hangs. */
  slot?: Slot | undefined
  /**
   * Whether the breaker has already admitted these pushes. If not, the breaker decides now, and pushes of a paused
   * identity fail immediately.
   */
  isAdmitted?: boolean
}

/**
 * Pushes devices, each over the connection of the identity of its pass. One push covers all passes of the identity on
 * the device. An identity that is not usable or reachable fails only its own pushes.
 */
export async function pushTo(
  pushes: Pushed[],
  services: PushServices,
  options: PushOptions = {},
): Promise<PushResults> {
  const tokens = new Map<string | null, Set<string>>()
  for (const { pushToken, appleIdentityId } of pushes) {
    const ofIdentity = tokens.get(appleIdentityId) ?? new Set()
    tokens.set(appleIdentityId, ofIdentity.add(pushToken))
  }
  const sent = await Promise.all(
    [...tokens].map(async ([id, ofIdentity]) => [id, await sendOf(id, [...ofIdentity], services, options)] as const),
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
  const allFailed = (reason: string) =>
    pushTokens.map((pushToken) => ({ pushToken, outcome: 'failed' as const, reason }))
  const breaker = breakers.of('apple', id)
  if (!isAdmitted && breaker.admit().most === 0) return allFailed('APNs does not respond to this identity')
  async function send(): Promise<PushResult[]> {
    try {
      const own = id === null ? push : (await identities.of('apple', id))?.push
      return (await own?.send(pushTokens)) ?? []
    } catch (error) {
      if (id === null) throw error
      return allFailed((error as Error).message)
    }
  }
  return breaker.run(send, { outcomeOf, reasonOf: ([first]) => first?.reason ?? undefined, onHang: slot?.leave })
}

/** Reasons of APNs that concern the device or the message. They show that APNs accepts the identity. */
const ofDevice: (string | null)[] = ['DeviceTokenNotForTopic', 'TooManyRequests']

function outcomeOf(result: { value: PushResult[] } | { error: unknown }): CallOutcome {
  if (!('value' in result)) return 'failed'
  if (result.value.length === 0) return null
  const isAnswered = ({ outcome, reason }: PushResult) => outcome !== 'failed' || ofDevice.includes(reason)
  return result.value.some(isAnswered) ? 'answered' : 'failed'
}

/** Registrations by the outcome of their push. Failed ones are grouped by error, because most share the same error. */
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
    failed: groupBy(failed, (one) => `APPLE_APNS_FAILED: ${results.of(one)?.reason ?? 'no answer'}`),
  }
}

/** Returns one error for each pass with a failed push. */
export function errorsByPass({ failed }: PushOutcomes<{ passId: string }>): Map<string, string> {
  return new Map([...failed].flatMap(([error, some]) => some.map(({ passId }) => [passId, error])))
}

type Device = Pick<StoredRegistration, 'passId' | 'deviceId'>

/** Records pushes of current holders on their registrations. */
export async function recordPushes(
  tx: Repositories,
  workspaceId: string,
  { sent, failed }: { sent: (Device & { pushedVersion: number; version: number })[]; failed: Map<string, Device[]> },
  at: Date,
): Promise<void> {
  await tx.registrations.setPushed(workspaceId, sent, at)
  for (const [error, some] of failed) await tx.registrations.setErrors(workspaceId, some, error)
}

/** Deletes registrations whose tokens are dead, and returns them. */
export async function dropGone(tx: Repositories, { gone }: PushResults): Promise<DroppedRegistration[]> {
  const dropped: DroppedRegistration[] = []
  for (const { identityId, pushTokens } of gone) {
    dropped.push(...(await tx.registrations.deleteByTokens(pushTokens, identityId)))
  }
  return dropped
}

/** Logs the outcome of the pushes for each pass. A pass whose phones are all gone is not logged. */
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
