import type { Pass } from './contract/passes.ts'
import type { ScanItem } from './contract/scan-shapes.ts'
import type { ErrorCode } from './errors.ts'

/** What data of each event holds (spec 6): the state that the event establishes, never what it merely observed. */
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
  >
  'pass.failed': Identifiers & { error: { code: ErrorCode; message: string } }
  'pass.updated': Identifiers & { changedFields: ChangedField[] }
  'pass.voided': Pick<Pass, 'id' | 'externalPassId'> & { reason: string | null }
  'webhook.test': { webhookId: string }
  'pass.scanned': ScanItem
}

type Identifiers = Pick<Pass, 'id' | 'externalPassId' | 'templateId' | 'templateVersionId' | 'projectId'>

/** Top-level fields that an update touched; receivers ignore entries that they do not know. */
export type ChangedField = 'label' | 'variables' | 'redemption' | 'expiresAt' | 'templateVersionId' | 'manual_requeue'

export type EventType = keyof EventData

/** Events that endpoints subscribe to. */
export const subscribableEvents = ['pass.issued', 'pass.updated', 'pass.voided', 'pass.failed', 'pass.scanned'] as const

/** Every event that is sent; webhook.test goes to the endpoint that is tested and to no other. */
export const eventTypes = [...subscribableEvents, 'webhook.test'] as const
