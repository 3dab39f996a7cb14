import type { PushResult } from '../../wallets/apple/push.ts'
import type { Services } from '../context.ts'

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

/**
 * Tells devices to look at their passes, each over the connection of the identity that its pass is of. One push says "look" for every
 * pass of it that the device holds. One that cannot be used, or reached, fails its own pushes and holds up no other.
 */
export async function pushTo(pushes: Pushed[], services: Pick<Services, 'push' | 'identities'>): Promise<PushResults> {
  const tokens = new Map<string | null, Set<string>>()
  for (const { pushToken, appleIdentityId } of pushes) {
    const ofIdentity = tokens.get(appleIdentityId) ?? new Set()
    tokens.set(appleIdentityId, ofIdentity.add(pushToken))
  }
  const sent = await Promise.all(
    [...tokens].map(async ([id, ofIdentity]) => [id, await sendOf(id, [...ofIdentity], services)] as const),
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
  { push, identities }: Pick<Services, 'push' | 'identities'>,
): Promise<PushResult[]> {
  try {
    const own = id === null ? push : (await identities.apple(id))?.push
    return (await own?.send(pushTokens)) ?? []
  } catch (error) {
    if (id === null) throw error
    const reason = (error as Error).message
    return pushTokens.map((pushToken) => ({ pushToken, outcome: 'failed', reason }))
  }
}
