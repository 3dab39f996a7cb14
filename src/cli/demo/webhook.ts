import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '../../client/client.ts'
import { verify, type WebhookEvent } from '../../client/webhooks.ts'
import { SIGNATURE_HEADER } from '../../core/rules/crypto/signature.ts'
import { CliError } from '../command/errors.ts'
import { duration } from '../command/output.ts'
import { type Received, startReceiver } from '../webhook/receiver.ts'
import type { DemoServer } from './program.ts'

const PATIENCE_SECONDS = 30

/**
 * Voids a pass and receives the event, as a customer's application would.
 * @throws WebhookVerificationError where the signature does not hold, CliError where nothing comes
 */
export async function receiveVoid(passId: string, server: DemoServer): Promise<WebhookEvent> {
  const received: Received[] = []
  const receiver = await startReceiver(async (delivery) => {
    received.push(delivery)
    return 204
  })
  const client = createClient(server)
  try {
    const { secret } = await client.webhooks.create({ body: { url: receiver.url, events: ['pass.voided'] } })
    await client.passes.void({ params: { id: passId }, body: { reason: 'refunded' } })
    const { rawBody, headers } = await firstOf(received)
    const event = verify(rawBody, headers[SIGNATURE_HEADER.toLowerCase()], secret)
    if (event.type !== 'pass.voided' || event.data.id !== passId) throw new CliError(`${event.type} came unasked`)
    return event
  } finally {
    await client.close()
    await receiver.close()
  }
}

export function describeEvent({ id, type }: WebhookEvent): string {
  return `${type} ${id}, its signature is good`
}

async function firstOf(received: readonly Received[]): Promise<Received> {
  for (let waited = 0; waited < PATIENCE_SECONDS; waited += 0.05) {
    if (received[0]) return received[0]
    await sleep(50)
  }
  throw new CliError(`No event came within ${duration(PATIENCE_SECONDS)}`)
}
