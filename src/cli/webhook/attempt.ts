import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '../../client/client.ts'
import type { Delivery, DeliveryDetail } from '../../core/contract/deliveries.ts'
import { CliError } from '../command/errors.ts'

/** An attempt may take 15 s, and a worker that is busy a moment more. */
const PATIENCE_MS = 20_000
const LOOK_EVERY_MS = 100

/**
 * Waits for the attempt that was just asked for.
 * @param attemptCount of the delivery before it
 * @throws CliError where it does not come
 */
export async function awaitAttempt(client: Client, { id, attemptCount }: Delivery): Promise<DeliveryDetail> {
  const until = performance.now() + PATIENCE_MS
  while (performance.now() < until) {
    const delivery = await client.deliveries.get({ params: { id } })
    // Without another attempt it ends where the webhook is disabled meanwhile.
    if (delivery.attemptCount > attemptCount || delivery.status === 'FAILED') return delivery
    await sleep(LOOK_EVERY_MS)
  }
  throw new CliError(`Delivery ${id} was not attempted within ${PATIENCE_MS / 1000} s`, {
    code: 'NO_ATTEMPT',
    hint: `is a worker running? passes webhook deliveries ${id} shows what comes of it.`,
    details: { id },
  })
}

/** @throws CliError where the endpoint did not take the delivery */
export function requireSuccess({ status, lastResponseCode, lastError, ...delivery }: DeliveryDetail): void {
  if (status === 'SUCCESS') return
  const { payload: _, ...facts } = delivery
  const reason = lastResponseCode === null ? (lastError ?? 'no answer') : `the endpoint answered ${lastResponseCode}`
  throw new CliError(`The delivery failed: ${reason}`, {
    code: 'DELIVERY_FAILED',
    hint:
      lastResponseCode === 410
        ? `it says that it is gone, so nothing is sent there any more; passes webhook enable ${delivery.webhookId} once it is back.`
        : `mend the endpoint; passes webhook redeliver ${delivery.id} sends it once more.`,
    details: { ...facts, status, lastResponseCode, lastError },
  })
}
