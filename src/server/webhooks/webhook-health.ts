import { healthAfter } from '../../core/rules/sending/retries.ts'
import type { Repositories } from '../../storage/store.ts'
import type { CompletedAttempt } from '../../storage/webhooks/delivery-row.ts'
import type { StoredWebhook } from '../../storage/webhooks/webhooks-repository.ts'

/** The maximum number of deliveries that end in one transaction. A job ends the rest. */
export const END_CHUNK = 1_000

/** Disables a webhook. Its waiting deliveries end as FAILED. */
export async function disableWebhook(
  tx: Repositories,
  webhook: StoredWebhook,
  { reason, at, correlationId }: { reason: string; at: Date; correlationId: string | null },
): Promise<StoredWebhook> {
  const { workspaceId, id } = webhook
  const disabled = (await tx.webhooks.setDisabled(workspaceId, id, reason, at))!
  await endDeliveries(tx, disabled, { before: disabled.generation, at, correlationId })
  return disabled
}

/** Ends waiting deliveries of generations of a webhook before the given one. */
export async function endDeliveries(
  tx: Repositories,
  { workspaceId, id }: StoredWebhook,
  { before, at, correlationId }: { before: number; at: Date; correlationId: string | null },
): Promise<void> {
  await tx.deliveries.end(workspaceId, id, { before, at, limit: END_CHUNK })
  if (!(await tx.deliveries.hasStale(workspaceId, id, before))) return
  await tx.jobs.insert([{ workspaceId, kind: 'deliver-webhooks', subject: id, correlationId }], at)
}

/**
 * Records the health of a webhook, and disables one that is gone or has failed for too long. Returns the changed
 * webhook.
 */
export async function noteHealth(
  tx: Repositories,
  webhook: StoredWebhook,
  attempts: CompletedAttempt[],
  at: Date,
): Promise<StoredWebhook> {
  const { failingSince, disabledReason } = healthAfter(webhook.failingSince, attempts)
  if (failingSince?.getTime() !== webhook.failingSince?.getTime()) {
    await tx.webhooks.setFailingSince(webhook.workspaceId, webhook.id, failingSince)
  }
  if (webhook.status === 'ENABLED' && disabledReason !== undefined) {
    return disableWebhook(tx, webhook, { reason: disabledReason, at, correlationId: null })
  }
  return { ...webhook, failingSince }
}
