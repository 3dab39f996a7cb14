import type { EventData, EventType } from './contract/webhooks/event-data.ts'
import { newId } from './ids.ts'

type SubscribableEvent = Exclude<EventType, 'webhook.test'>

interface EventFacts<T extends EventType> {
  summary: string
  /** Returns the data of an event about a fictitious pass, for developers of webhook receivers. */
  example: (at: Date) => EventData[T]
}

export const eventFacts: { [T in EventType]: EventFacts<T> } = {
  'pass.issued': {
    summary: 'A pass was issued',
    example: (at) => ({
      ...identifiers(at),
      variables: { ticketType: 'Speaker', seat: 'A-17' },
      redemption: { maxUses: 1 },
      expiresAt: null,
      createdAt: at.toISOString(),
    }),
  },
  'pass.updated': {
    summary: 'A pass was updated',
    example: (at) => ({ ...identifiers(at), changedFields: ['variables', 'redemption', 'expiresAt'] }),
  },
  'pass.voided': {
    summary: 'A pass was voided',
    example: (at) => ({ id: newId(at), externalPassId, reason: 'refunded' }),
  },
  'pass.failed': {
    summary: 'A pass could not be issued',
    example: (at) => ({
      ...identifiers(at),
      error: { code: 'APPLE_SIGNING_FAILED', message: 'The pass could not be signed: the certificate has expired.' },
    }),
  },
  'pass.scanned': {
    summary: 'A scan or a reversal was recorded',
    example: (at) => ({
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
  },
  'pass.installed': {
    summary: 'A pass was added to its first wallet of a platform',
    example: (at) => holding(at, 1),
  },
  'pass.removed': {
    summary: 'A pass was removed from its last wallet of a platform',
    example: (at) => holding(at, 0),
  },
  'zone.capacity': {
    summary: 'A zone reached 80 or 100 percent of its capacity',
    example: (at) => ({
      id: newId(at),
      projectId: newId(at),
      name: 'Hall',
      inside: 400,
      capacity: 500,
      percent: 80,
    }),
  },
  'webhook.test': {
    summary: 'An owner tested the webhook',
    example: (at) => ({ webhookId: newId(at) }),
  },
}

export const eventTypes = Object.keys(eventFacts) as [EventType, ...EventType[]]

/** Every event except webhook.test, which is only sent to the tested endpoint. */
export const subscribableEvents = eventTypes.filter((type) => type !== 'webhook.test') as [
  SubscribableEvent,
  ...SubscribableEvent[],
]

const externalPassId = 'order-1815-1'

function identifiers(at: Date) {
  const [id, templateId, templateVersionId, projectId] = [newId(at), newId(at), newId(at), newId(at)]
  return { id, externalPassId, templateId, templateVersionId, projectId }
}

function holding(at: Date, devices: number): EventData['pass.installed'] {
  return { id: newId(at), externalPassId, projectId: newId(at), platform: 'apple', devices }
}
