import type { EventData, EventType, subscribableEvents } from './events.ts'
import { newId } from './ids.ts'

/** Events as they would be of a pass that does not exist: for those who build what receives them. */
const examples: { [T in (typeof subscribableEvents)[number]]: (at: Date) => EventData[T] } = {
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
}

const externalPassId = 'order-1815-1'

function identifiers(at: Date) {
  const [id, templateId, templateVersionId, projectId] = [newId(at), newId(at), newId(at), newId(at)]
  return { id, externalPassId, templateId, templateVersionId, projectId }
}

/** What the data of an event could be, with ids that name nothing. */
export function exampleData(type: Exclude<EventType, 'webhook.test'>, at: Date): EventData[typeof type] {
  return examples[type](at)
}
