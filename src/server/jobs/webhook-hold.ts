import { randomUUID } from 'node:crypto'
import type { StoredWebhook } from '../../storage/webhooks.ts'
import type { Services } from '../context.ts'

/** So long a sender is the only one of its endpoint; renewed while it sends. */
const HOLD_SECONDS = 10

/** The right to send to an endpoint. One sender at a time has it, on all servers together. */
export interface Hold {
  sender: string
  /** Aborted when the hold was lost: another one sends from now on. */
  lost: AbortSignal
  /** When the hold ends that is taken or renewed now. */
  until(): Date
  /** No longer renews it. */
  stop(): void
}

/** The hold, or undefined where another sender has it. */
export async function takeHold(webhook: StoredWebhook, services: Services): Promise<Hold | undefined> {
  const { workspaceId, id } = webhook
  const { store, clock, log } = services
  const sender = randomUUID()
  const until = () => new Date(clock().getTime() + HOLD_SECONDS * 1000)
  const times = { until: until(), at: clock() }
  if (!(await store.transaction((tx) => tx.webhooks.hold(workspaceId, id, sender, times)))) return undefined
  const lost = new AbortController()
  const renewal = setInterval(
    () =>
      store
        .transaction((tx) => tx.webhooks.renewHold(workspaceId, id, sender, until()))
        .then((isStillOurs) => isStillOurs || lost.abort())
        .catch((error) => log.warn({ err: error, webhookId: id }, 'could not renew the hold of a webhook')),
    (HOLD_SECONDS * 1000) / 3,
  )
  return { sender, lost: lost.signal, until, stop: () => clearInterval(renewal) }
}
