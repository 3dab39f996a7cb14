import { randomUUID } from 'node:crypto'
import { type EventType, exampleData } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { envelopeText } from '../../core/rules/sending/retries.ts'
import { type Forwarded, forward } from './forward.ts'
import { findListeners } from './listeners.ts'

export type Triggered = Forwarded & { url: string }

/** Sends an example from this machine: to one address, or to everybody who listens here. */
export async function triggerHere(
  type: EventType,
  target: { secret: string } & ({ to: string } | { folder: string }),
): Promise<Triggered[]> {
  const at = new Date()
  const data = type === 'webhook.test' ? { webhookId: newId(at) } : exampleData(type, at)
  const head = { id: newId(at), type, timestamp: at.toISOString(), correlationId: randomUUID() }
  const text = envelopeText(head, JSON.stringify(data))
  if ('to' in target) return [{ url: target.to, ...(await forward(text, target.to, target.secret)) }]
  const urls = findListeners(target.folder)
  return Promise.all(urls.map(async (url) => ({ url, ...(await forward(text, url, target.secret)) })))
}
