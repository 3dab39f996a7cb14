import type { PlatformRejection } from '../../core/contract/wallets.ts'
import { field, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

const REJECTION = mapping({
  platform: field.plain<PlatformRejection['platform']>(),
  code: field.plain<PlatformRejection['code']>(),
  message: field.text,
  at: field.time,
})

export interface StoredRejection extends RecordOf<typeof REJECTION> {}

/** The kind of rejected subject: a whole template version, a class that some of its passes share, or a pass. */
export type RejectedKind = 'version' | 'class' | 'pass'

interface Row extends RowOf<typeof REJECTION> {
  subject: string
}

/** The latest permanent rejection, per platform, of each template version, class, and pass. */
export class Rejections extends Repository {
  async list(workspaceId: string, subjects: string[]): Promise<Map<string, StoredRejection>> {
    if (subjects.length === 0) return new Map()
    const rows: Row[] = await this.db('rejections').where({ workspace_id: workspaceId }).whereIn('subject', subjects)
    return new Map(rows.map((row) => [row.subject, REJECTION.read(row)]))
  }

  /** Replaces the platform's previous rejection of the subject. */
  async insert(workspaceId: string, kind: RejectedKind, subject: string, rejection: StoredRejection): Promise<void> {
    await this.db('rejections')
      .insert({ workspace_id: workspaceId, subject, kind, ...REJECTION.write(rejection) })
      .onConflict(['workspace_id', 'subject', 'platform'])
      .merge()
  }

  /** Deletes the rejections of subjects that the platform has accepted. */
  async clear(workspaceId: string, platform: PlatformRejection['platform'], ...subjects: string[]): Promise<void> {
    await this.db('rejections').where({ workspace_id: workspaceId, platform }).whereIn('subject', subjects).delete()
  }
}
