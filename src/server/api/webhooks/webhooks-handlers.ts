import { type webhooks as contract, Webhook } from '../../../core/contract/webhooks/webhooks.ts'
import { ApiError, validationError } from '../../../core/errors.ts'
import { eventFacts } from '../../../core/events.ts'
import { newId } from '../../../core/ids.ts'
import type { Repositories } from '../../../storage/store.ts'
import type { NewEvent } from '../../../storage/webhooks/events-repository.ts'
import type { RetiredSecret, StoredWebhook } from '../../../storage/webhooks/webhooks-repository.ts'
import type { Handlers } from '../../http/mount.ts'
import { toBody, toPage } from '../../http/responses.ts'
import { disableWebhook, endDeliveries } from '../../webhooks/attempts.ts'
import type { Outbound } from '../../webhooks/outbound.ts'
import { audit } from '../audit.ts'
import { requireUnderLimit } from '../limit-checks.ts'
import { requireChange } from '../require-change.ts'
import { showDelivery } from './deliveries-handlers.ts'

const OVERLAP_MS = 24 * 3_600_000

/**
 * The maximum number of previous secrets of a webhook. Each secret adds a signature to the header of every delivery.
 */
const MAX_RETIRED_SECRETS = 10

export const webhooks: Handlers<typeof contract> = {
  list: async ({ query }, { store, workspaceId }) => {
    return toPage(await store.webhooks.list(workspaceId, query), showWebhook)
  },

  create: async ({ body: { unique, ...body } }, context) => {
    const { store, services, workspaceId, now } = context
    requireAllowed(body.url, services.outbound)
    const id = newId(now)
    const { secret, sealed } = services.webhookSecrets.make(id)
    const fields = { ...body, secret: sealed }
    const webhook = await store.transaction(async (tx) => {
      if (unique) await requireUnique(tx, workspaceId, body.url)
      await requireUnderLimit(tx, context, 'webhooks', () => tx.usage.countWebhooks(workspaceId))
      await audit(tx, context, 'webhook.create', id)
      return tx.webhooks.insert(workspaceId, id, fields, now)
    })
    return { ...showWebhook(webhook), secret }
  },

  get: async ({ params }, { store, workspaceId }) =>
    showWebhook((await store.webhooks.find(workspaceId, params.id)) ?? missing(params.id)),

  update: async ({ params, body }, context) => {
    const { store, services, workspaceId, now } = context
    requireChange(body, 'Give at least one of url, events, and description.')
    if (body.url !== undefined) requireAllowed(body.url, services.outbound)
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.update(workspaceId, params.id, body, now)) ?? missing(params.id)
      await audit(tx, context, 'webhook.update', webhook.id)
      return showWebhook(webhook)
    })
  },

  delete: ({ params }, context) => {
    const { store, workspaceId, now, correlationId } = context
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.findForUpdate(workspaceId, params.id)) ?? missing(params.id)
      await tx.webhooks.delete(workspaceId, params.id)
      await endDeliveries(tx, webhook, { before: webhook.generation + 1, at: now, correlationId })
      await audit(tx, context, 'webhook.delete', webhook.id)
    })
  },

  enable: ({ params }, context) => {
    const { store, workspaceId, now } = context
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.findForUpdate(workspaceId, params.id)) ?? missing(params.id)
      if (webhook.status === 'ENABLED') return showWebhook(webhook)
      await audit(tx, context, 'webhook.enable', webhook.id)
      return showWebhook((await tx.webhooks.setEnabled(workspaceId, params.id, now))!)
    })
  },

  disable: ({ params }, context) => {
    const { store, workspaceId, now, correlationId } = context
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.findForUpdate(workspaceId, params.id)) ?? missing(params.id)
      if (webhook.status === 'DISABLED') return showWebhook(webhook)
      await audit(tx, context, 'webhook.disable', webhook.id)
      const reason = { reason: 'An owner disabled the webhook.', at: now, correlationId }
      return showWebhook(await disableWebhook(tx, webhook, reason))
    })
  },

  test: ({ params, body: { type } }, context) => {
    const { store, workspaceId, now, correlationId } = context
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.findForUpdate(workspaceId, params.id)) ?? missing(params.id)
      if (webhook.status === 'DISABLED') {
        const details = { webhookId: webhook.id }
        throw new ApiError('CONFLICT', { message: 'The webhook is disabled; enable it first.', details })
      }
      const data = type === 'webhook.test' ? { webhookId: webhook.id } : eventFacts[type].example(now)
      const event = { type, subject: webhook.id, data, correlationId } as NewEvent
      await audit(tx, context, 'webhook.test', webhook.id)
      return showDelivery(await tx.events.insertFor(workspaceId, webhook, event, now))
    })
  },

  rotateSecret: async ({ params }, context) => {
    const { store, services, workspaceId, now } = context
    const { secret, sealed } = services.webhookSecrets.make(params.id)
    return store.transaction(async (tx) => {
      const webhook = (await tx.webhooks.findForUpdate(workspaceId, params.id)) ?? missing(params.id)
      const retired = { secret: webhook.secret, until: new Date(now.getTime() + OVERLAP_MS) }
      const secrets = { secret: sealed, retiredSecrets: [retired, ...stillSigning(webhook, now)] }
      const rotated = (await tx.webhooks.setSecrets(workspaceId, webhook.id, secrets, now))!
      await audit(tx, context, 'webhook.rotate-secret', webhook.id)
      return { ...showWebhook(rotated), secret }
    })
  },

  listDeliveries: async ({ params, query }, { store, workspaceId }) => {
    if (!(await store.webhooks.find(workspaceId, params.id))) missing(params.id)
    return toPage(await store.deliveries.list(workspaceId, { ...query, webhookId: [params.id] }), showDelivery)
  },
}

function stillSigning({ id, retiredSecrets }: StoredWebhook, now: Date): RetiredSecret[] {
  const living = retiredSecrets.filter(({ until }) => now < until)
  const oldest = living.at(-1)
  if (!oldest || living.length < MAX_RETIRED_SECRETS) return living
  const seconds = Math.ceil((oldest.until.getTime() - now.getTime()) / 1000)
  throw new ApiError('TOO_MANY_REQUESTS', {
    message: `Deliveries are still signed with ${MAX_RETIRED_SECRETS} earlier secrets, each for 24 hours after its rotation. Rotate again when the oldest has expired.`,
    details: { webhookId: id, allowed: MAX_RETIRED_SECRETS, oldestEndsAt: oldest.until.toISOString() },
    headers: { 'retry-after': String(seconds) },
  })
}

function showWebhook(webhook: StoredWebhook): Webhook {
  return toBody(Webhook, webhook)
}

/** Locks the workspace. @throws ApiError CONFLICT if another webhook of the workspace has the address */
async function requireUnique(tx: Repositories, workspaceId: string, url: string): Promise<void> {
  await tx.usage.lock(workspaceId)
  const webhookId = await tx.webhooks.findIdByUrl(workspaceId, url)
  if (webhookId) {
    throw new ApiError('CONFLICT', { message: `A webhook for ${url} already exists.`, details: { webhookId } })
  }
}

function requireAllowed(url: string, outbound: Outbound): void {
  const message = outbound.rejection(url)
  if (message !== undefined) throw validationError([{ path: ['url'], message }])
}

function missing(webhookId: string): never {
  throw new ApiError('WEBHOOK_NOT_FOUND', { details: { webhookId } })
}
