import type { PushResult } from '../../wallets/apple/push.ts'
import type { Services } from '../context.ts'
import type { CallOutcome } from '../identities/breakers.ts'
import type { Slot } from '../jobs/worker.ts'

/** A device of a pass, and whom the pass is signed by. */
export interface Pushed {
  pushToken: string
  appleIdentityId: string | null
}

/** What became of pushes: the same token may be known to several identities. */
export interface PushResults {
  of(pushed: Pushed): PushResult | undefined
  /** Tokens that are dead, by whose they are. */
  gone: { identityId: string | null; pushTokens: string[] }[]
  all: PushResult[]
}

/** What pushes need of the services. */
export type PushServices = Pick<Services, 'push' | 'identities' | 'breakers' | 'drops'>

/** How pushes are sent. */
export interface PushOptions {
  /** Of the batch that pushes: left where a push hangs. */
  slot?: Slot | undefined
  /** The breaker was asked; else the pushes of an identity that is held back have failed at once. */
  isAdmitted?: boolean
}

/**
 * Tells devices to look at their passes, each over the connection of the identity that its pass is of. One push says "look" for every
 * pass of it that the device holds. One that cannot be used, or reached, fails its own pushes and holds up no other.
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
  if (!isAdmitted && breaker.admit().most === 0) return allFailed('APNs does not answer this identity for now')
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

/** What APNs says of a device or a message, by an identity that it takes. */
const ofDevice: (string | null)[] = ['DeviceTokenNotForTopic', 'TooManyRequests']

function outcomeOf(result: { value: PushResult[] } | { error: unknown }): CallOutcome {
  if (!('value' in result)) return 'failed'
  if (result.value.length === 0) return null
  const isAnswered = ({ outcome, reason }: PushResult) => outcome !== 'failed' || ofDevice.includes(reason)
  return result.value.some(isAnswered) ? 'answered' : 'failed'
}
