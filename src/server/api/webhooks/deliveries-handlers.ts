import { Attempt, type deliveries as contract, Delivery } from '../../../core/contract/webhooks/deliveries.ts'
import { ApiError } from '../../../core/errors.ts'
import type { StoredDelivery } from '../../../storage/webhooks/delivery-row.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { audit } from '../audit.ts'

export const deliveries: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => {
    return toPage(await store.deliveries.list(workspaceId, query), showDelivery)
  },

  get: async ({ params }, { store, workspaceId }) => {
    const delivery = (await store.deliveries.find(workspaceId, params.id)) ?? missing(params.id)
    const [attempts, payload] = await Promise.all([
      store.deliveries.listAttempts(workspaceId, params.id),
      store.deliveries.findPayload(workspaceId, params.id),
    ])
    const shown = attempts.map((attempt) => toBody(Attempt, attempt))
    return { ...showDelivery(delivery), attempts: shown, payload: JSON.parse(payload!) }
  },

  redeliver: ({ params }, context) => {
    const { store, workspaceId, now, correlationId } = context
    return store.transaction(async (tx) => {
      const { webhookId } = (await tx.deliveries.find(workspaceId, params.id)) ?? missing(params.id)
      // Lock the webhook first. All writers use this order, to avoid deadlocks.
      const webhook = await tx.webhooks.findForUpdate(workspaceId, webhookId)
      if (webhook?.status !== 'ENABLED') {
        const message = webhook ? 'The webhook is disabled; enable it first.' : 'The webhook was deleted.'
        throw new ApiError('CONFLICT', { message, details: { webhookId } })
      }
      const queued = (await tx.deliveries.redeliver(workspaceId, params.id, webhook, now)) ?? missing(params.id)
      await tx.jobs.insert([{ workspaceId, kind: 'deliver-webhooks', subject: webhookId, correlationId }], now)
      await audit(tx, context, 'delivery.redeliver', queued.id)
      return showDelivery(queued)
    })
  },
}

export function showDelivery(delivery: StoredDelivery): Delivery {
  return toBody(Delivery, { ...delivery, nextAttemptAt: delivery.dueAt })
}

function missing(deliveryId: string): never {
  throw new ApiError('NOT_FOUND', { message: 'Delivery not found.', details: { deliveryId } })
}
