import type { AppleIdentity } from '../../wallets/apple/apple-identity.ts'
import type { ApplePushOptions, PushResult, RenewablePush } from '../../wallets/apple/push.ts'

export type PushServer = NonNullable<ApplePushOptions['server']> | 'apple'

/** Creates a push client that connects on demand: each push uses the APNs server that `find` returns at that time. */
export function createLazyPush(
  given: AppleIdentity,
  find: () => PushServer | undefined | Promise<PushServer | undefined>,
  open: (server: PushServer, identity: AppleIdentity) => Promise<RenewablePush>,
): RenewablePush {
  let identity = given
  let latest: { where: string | number; push: Promise<RenewablePush> } | undefined

  async function connect(server: PushServer): Promise<RenewablePush> {
    const where = server === 'apple' ? server : server.port
    if (latest?.where !== where) {
      const former = latest
      latest = { where, push: open(server, identity) }
      await (await former?.push)?.close()
    }
    const { push } = latest
    try {
      return await push
    } catch (error) {
      if (latest?.push === push) latest = undefined
      throw error
    }
  }

  return {
    async send(pushTokens) {
      try {
        const server = await find()
        if (!server) return allFailed(pushTokens, 'No APNs emulator is running.')
        return await (await connect(server)).send(pushTokens)
      } catch (error) {
        return allFailed(pushTokens, (error as Error).message)
      }
    },
    renew(renewed) {
      identity = renewed
      // Discard a client that rejects the renewed identity. The next push connects again, and fails with the reason.
      const { push } = latest ?? {}
      push
        ?.then((one) => one.renew(renewed))
        .catch(() => {
          if (latest?.push === push) latest = undefined
        })
    },
    close: async () => (await latest?.push.catch(() => undefined))?.close(),
  }
}

export function allFailed(pushTokens: string[], reason: string): PushResult[] {
  return pushTokens.map((pushToken) => ({ pushToken, outcome: 'failed', reason }))
}
