import type { ChangedField } from '../../core/contract/webhooks/event-data.ts'
import type { StoredPass } from '../../storage/passes/pass-row.ts'

type Named = Pick<StoredPass, 'id' | 'externalPassId' | 'templateId' | 'templateVersionId' | 'projectId'>

/** Returns the event pass.updated. @param pass the pass after the update */
export function passUpdated(pass: Named, changedFields: ChangedField[], correlationId: string | null) {
  const { id, externalPassId, templateId, templateVersionId, projectId } = pass
  const data = { id, externalPassId, templateId, templateVersionId, projectId, changedFields }
  return { type: 'pass.updated' as const, subject: id, data, correlationId }
}
