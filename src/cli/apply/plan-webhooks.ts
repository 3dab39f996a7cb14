import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Webhook, WebhookWithSecret } from '../../core/contract/webhooks.ts'
import { findChanges } from '../template/compare.ts'
import type { WebhookFile } from './desired-state.ts'
import { changesIn, requireOne } from './plan-projects.ts'
import type { SecretsFile } from './secrets-file.ts'
import type { Outcome, Step } from './step.ts'

export function planWebhook(client: Client, file: WebhookFile, stored: readonly Webhook[], secrets: SecretsFile): Step {
  const { path, value } = file
  const { $schema: _, status, ...fields } = value
  const { url } = fields
  const [webhook] = requireOne(stored, (one) => one.url === url, { path, what: `webhooks of ${url}` })
  const step = { kind: 'webhook', name: url, file: path } as const

  async function bringUp(id: string): Promise<Outcome> {
    await client.webhooks.update({ params: { id }, body: fields })
    await setStatus(id)
    return 'updated'
  }

  async function setStatus(id: string): Promise<void> {
    if (status === 'ENABLED') await client.webhooks.enable({ params: { id } })
    if (status === 'DISABLED') await client.webhooks.disable({ params: { id } })
  }

  async function create(): Promise<Outcome> {
    // Noted before it is made: where the answer with the secret is lost, the next run knows that it has none.
    await secrets.set(url, null)
    let made: WebhookWithSecret
    try {
      made = await client.webhooks.create({ body: { ...fields, unique: true } })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status >= 500) throw error
      await secrets.delete(url)
      const { webhookId } = error.details
      // Another run was quicker, and has the secret.
      if (error.code === 'CONFLICT' && typeof webhookId === 'string') return bringUp(webhookId)
      throw error
    }
    await secrets.set(url, made.secret)
    await setStatus(made.id)
    return 'created'
  }

  if (!webhook) return { ...step, action: 'create', changes: [], carryOut: create }
  const { events, ...rest } = fields
  const sorted = (list: readonly string[]) => list.toSorted()
  const changes = [
    ...changesIn(webhook, { ...rest, status }),
    ...findChanges({ events: sorted(webhook.events) }, { events: sorted(events) }),
  ]
  const lacksSecret = secrets.isPending(url)
  if (changes.length === 0 && !lacksSecret) return { ...step, action: 'unchanged', changes }
  return {
    ...step,
    action: 'change',
    changes,
    ...(lacksSecret && { note: 'gets a new secret: the answer that held its first was lost' }),
    async carryOut() {
      if (lacksSecret)
        await secrets.set(url, (await client.webhooks.rotateSecret({ params: { id: webhook.id } })).secret)
      return bringUp(webhook.id)
    },
  }
}
