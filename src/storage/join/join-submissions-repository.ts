import { idsOf } from '../../core/ids.ts'
import type { Variables } from '../../core/rules/template/variables.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { insertNew, Repository } from '../db/repository.ts'
import type { PassJoin } from '../passes/pass-row.ts'

/** The pass that a visitor asked for. */
export interface JoinRequest {
  /** Whether the submission can only recover the link of an existing pass, because the page was full. */
  recovers: boolean
  label: string
  variables: Variables
  join: Omit<PassJoin, 'consentedAt'> & { consentedAt: string | null }
  /** The variable that contains the address of the visitor. */
  identity: string
  language: string
}

const SUBMISSION = mapping({
  id: field.text,
  templateId: field.text,
  externalPassId: field.text,
  content: field.json<JoinRequest>(),
  /** Whether the submission is counted in the `joined` of its page. */
  holdsPlace: field.flag,
  createdAt: field.time,
})

export interface StoredSubmission extends RecordOf<typeof SUBMISSION> {}

/** The submissions of join pages that wait for their job. Only pages with the setting `identity` have submissions. */
export class JoinSubmissions extends Repository {
  /**
   * Stores a submission. Returns false if a submission with the same `externalPassId` still waits, because the visitor
   * sent the form twice.
   */
  async insert(workspaceId: string, submission: StoredSubmission): Promise<boolean> {
    const row = { ...SUBMISSION.write(submission), workspace_id: workspaceId }
    return insertNew(this.db, 'join_submissions', row, ['workspace_id', 'external_pass_id'])
  }

  async find(workspaceId: string, id: string): Promise<StoredSubmission | undefined> {
    return findRecord(this.one(workspaceId, id), SUBMISSION.read)
  }

  /** Clears `holdsPlace`. Returns whether it was set, so that the caller releases the place on the page only once. */
  async removePlace(workspaceId: string, id: string): Promise<boolean> {
    return (await this.one(workspaceId, id).where({ holds_place: true }).update({ holds_place: false })) > 0
  }

  /** Deletes up to `limit` submissions from before a time, in all workspaces, and returns them, ordered by template. */
  async deleteOld(before: Date, limit: number): Promise<(StoredSubmission & { workspaceId: string })[]> {
    const rows: (RowOf<typeof SUBMISSION> & { workspace_id: string })[] = await this.db('join_submissions')
      .where('created_at', '<', before.getTime())
      .orderBy('template_id')
      .limit(limit)
      .forUpdate()
      .skipLocked()
    await this.db('join_submissions').whereIn('id', idsOf(rows)).delete()
    return rows.map((row) => ({ ...SUBMISSION.read(row), workspaceId: row.workspace_id }))
  }

  async delete(workspaceId: string, id: string): Promise<boolean> {
    return (await this.one(workspaceId, id).delete()) > 0
  }

  private one(workspaceId: string, id: string) {
    return this.db('join_submissions').where({ workspace_id: workspaceId, id })
  }
}
