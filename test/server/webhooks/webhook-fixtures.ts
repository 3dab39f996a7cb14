import { contract } from '../../../src/core/contract/contract.ts'
import type { subscribableEvents } from '../../../src/core/events.ts'
import { verify } from '../../../src/core/rules/crypto/signature.ts'
import type { TestWorkspace } from '../../support/api.ts'
import type { Received, Receiver } from '../../support/receiver.ts'

type Subscribed = (typeof subscribableEvents)[number]

/** An endpoint that sends to a receiver. */
export function makeWebhook(workspace: TestWorkspace, receiver: Receiver, ...events: Subscribed[]) {
  const body = { url: receiver.url, events: events.length > 0 ? events : ['pass.voided' as const] }
  return workspace.ok(contract.webhooks.create, { body })
}

/** Queues a test event and returns its delivery. */
export function sendTest(workspace: TestWorkspace, webhookId: string) {
  return workspace.ok(contract.webhooks.test, { params: { id: webhookId } })
}

/** Queues many test events in one transaction. */
export async function queueTests({ api, id: workspaceId }: TestWorkspace, webhookId: string, count: number) {
  const target = { id: webhookId, generation: 1 }
  const event = { type: 'webhook.test', subject: webhookId, data: { webhookId }, correlationId: null } as const
  await api.services.store.transaction(async (tx) => {
    for (let n = 0; n < count; n += 1) await tx.events.insertFor(workspaceId, target, event, api.now)
  })
}

export function readDelivery(workspace: TestWorkspace, id: string) {
  return workspace.ok(contract.deliveries.get, { params: { id } })
}

export function redeliver(workspace: TestWorkspace, id: string) {
  return workspace.ok(contract.deliveries.redeliver, { params: { id } })
}

/** Whether the signature was made with the secret at that time. */
export function isSigned({ body, signature }: Received, secret: string, at: Date): boolean {
  return verify(body, signature, secret, { at }).ok
}
