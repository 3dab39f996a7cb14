import type { Variables } from '../../core/rules/template/variables.ts'
import { json, mapping, type RecordOf, type RowOf, text, time } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import type { PassJoin } from '../passes/pass-row.ts'

/** The pass that a visitor asked for. */
export interface JoinRequest {
  label: string
  variables: Variables
  join: Omit<PassJoin, 'consentedAt'> & { consentedAt: string | null }
  /** The variable that contains the address of the visitor. */
  identity: string
  language: string
}

const SUBMISSION = mapping({
  id: text,
  templateId: text,
  externalPassId: text,
  content: json<JoinRequest>(),
  createdAt: time,
})

export interface StoredSubmission extends RecordOf<typeof SUBMISSION> {}

/** The submissions of pages with an identity that wait for their job. */
export class JoinSubmissions extends Repository {
  /** Stores a submission. Returns false if the same form was submitted before and still waits. */
  async insert(workspaceId: string, submission: StoredSubmission): Promise<boolean> {
    const row = { ...SUBMISSION.write(submission), workspace_id: workspaceId }
    const inserted: unknown[] = await this.db('join_submissions')
      .insert(row)
      .onConflict(['workspace_id', 'external_pass_id'])
      .ignore()
      .returning('id')
    return inserted.length > 0
  }

  async find(workspaceId: string, id: string): Promise<StoredSubmission | undefined> {
    const row: RowOf<typeof SUBMISSION> | undefined = await this.db('join_submissions')
      .where({ workspace_id: workspaceId, id })
      .first()
    return row && SUBMISSION.read(row)
  }

  async delete(workspaceId: string, id: string): Promise<void> {
    await this.db('join_submissions').where({ workspace_id: workspaceId, id }).delete()
  }
}
