import type { EventData, EventType } from './contract/event-data.ts'
import { newId } from './ids.ts'

type SubscribableEvent = Exclude<EventType, 'webhook.test'>

/** Example events of a fictitious pass, for developers of webhook receivers. */
const examples: { [T in SubscribableEvent]: (at: Date) => EventData[T] } = {
  'pass.issued': (at) => ({
    ...identifiers(at),
    variables: { ticketType: 'Speaker', seat: 'A-17' },
    redemption: { maxUses: 1 },
    expiresAt: null,
    createdAt: at.toISOString(),
  }),
  'pass.updated': (at) => ({ ...identifiers(at), changedFields: ['variables', 'redemption', 'expiresAt'] }),
  'pass.voided': (at) => ({ id: newId(at), externalPassId, reason: 'refunded' }),
  'pass.failed': (at) => ({
    ...identifiers(at),
    error: { code: 'APPLE_SIGNING_FAILED', message: 'The pass could not be signed: the certificate has expired.' },
  }),
  'pass.scanned': (at) => ({
    id: newId(at),
    result: 'accepted',
    reason: 'valid',
    verified: 'online',
    passId: newId(at),
    projectId: newId(at),
    externalPassId,
    scannedAt: at.toISOString(),
    recordedAt: at.toISOString(),
    deviceId: 'gate-1',
    metadata: { gate: 'North' },
  }),
  'pass.installed': (at) => holding(at, 1),
  'pass.removed': (at) => holding(at, 0),
  'zone.capacity': (at) => ({
    id: newId(at),
    projectId: newId(at),
    name: 'Hall',
    inside: 400,
    capacity: 500,
    percent: 80,
  }),
}

export const subscribableEvents = Object.keys(examples) as [SubscribableEvent, ...SubscribableEvent[]]

/** Every event that is sent. webhook.test is only sent to the tested endpoint. */
export const eventTypes = [...subscribableEvents, 'webhook.test'] as const

const externalPassId = 'order-1815-1'

function identifiers(at: Date) {
  const [id, templateId, templateVersionId, projectId] = [newId(at), newId(at), newId(at), newId(at)]
  return { id, externalPassId, templateId, templateVersionId, projectId }
}

function holding(at: Date, devices: number): EventData['pass.installed'] {
  return { id: newId(at), externalPassId, projectId: newId(at), platform: 'apple', devices }
}

export function exampleData(type: SubscribableEvent, at: Date): EventData[typeof type] {
  return examples[type](at)
}
