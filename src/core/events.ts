import type { Pass } from './contract/passes.ts'
import type { Platform } from './contract/schemas/platform.ts'
import type { ScanItem } from './contract/schemas/scan-shapes.ts'
import type { ErrorCode } from './errors.ts'
import { newId } from './ids.ts'

/** The data of each event: the state that the event establishes. */
export interface EventData {
  'pass.issued': Pick<
    Pass,
    | 'id'
    | 'externalPassId'
    | 'templateId'
    | 'templateVersionId'
    | 'projectId'
    | 'variables'
    | 'redemption'
    | 'expiresAt'
    | 'createdAt'
  > & {
    /** Only if the pass is in a group. */
    groupKey?: string
  }
  'pass.failed': Identifiers & { error: { code: ErrorCode; message: string } }
  'pass.updated': Identifiers & { changedFields: ChangedField[] }
  'pass.voided': Pick<Pass, 'id' | 'externalPassId'> & { reason: string | null }
  'pass.installed': Holding
  'pass.removed': Holding
  'webhook.test': { webhookId: string }
  'pass.scanned': ScanItem
}

type Identifiers = Pick<Pass, 'id' | 'externalPassId' | 'templateId' | 'templateVersionId' | 'projectId'>

/** The first wallet of a platform added the pass, or the last one removed it. */
type Holding = Pick<Pass, 'id' | 'externalPassId' | 'projectId'> & {
  platform: Platform
  /** The number of devices that now hold the pass, or of users if the platform reports no devices. 0 if it was removed. */
  devices: number
}

/** The top-level fields that an update changed. Receivers ignore unknown entries. */
export type ChangedField =
  | 'label'
  | 'variables'
  | 'redemption'
  | 'expiresAt'
  | 'templateVersionId'
  | 'scanCode'
  | 'groupKey'
  | 'manual_requeue'

export type EventType = keyof EventData

/** The events that endpoints can subscribe to. */
export const subscribableEvents = [
  'pass.issued',
  'pass.updated',
  'pass.voided',
  'pass.failed',
  'pass.scanned',
  'pass.installed',
  'pass.removed',
] as const

/** Every event that is sent. webhook.test is only sent to the tested endpoint. */
export const eventTypes = [...subscribableEvents, 'webhook.test'] as const

/** Example events of a pass that does not exist, for developers of receivers. */
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
  'pass.installed': (at) => holding(at, 1),
  'pass.removed': (at) => holding(at, 0),
}

const externalPassId = 'order-1815-1'

function identifiers(at: Date) {
  const [id, templateId, templateVersionId, projectId] = [newId(at), newId(at), newId(at), newId(at)]
  return { id, externalPassId, templateId, templateVersionId, projectId }
}

function holding(at: Date, devices: number): Holding {
  return { id: newId(at), externalPassId, projectId: newId(at), platform: 'apple', devices }
}

export function exampleData(type: Exclude<EventType, 'webhook.test'>, at: Date): EventData[typeof type] {
  return examples[type](at)
}
