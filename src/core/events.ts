import type { Pass } from './contract/passes.ts'
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
  'pass.failed': Pick<Pass, 'id' | 'externalPassId' | 'templateId' | 'templateVersionId' | 'projectId'> & {
    error: { code: ErrorCode; message: string }
  }
}

export type EventType = keyof EventData
