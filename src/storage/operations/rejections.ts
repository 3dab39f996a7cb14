import type { PlatformRejection } from '../../core/contract/wallets.ts'
import { Repository } from '../db/repository.ts'

export interface StoredRejection extends Omit<PlatformRejection, 'at'> {
  at: Date
}

/** The kind of rejected subject: a whole template version, a class that some of its passes share, or a pass. */
export type RejectedKind = 'version' | 'class' | 'pass'

interface Row {
  subject: string
  platform: PlatformRejection['platform']
  code: PlatformRejection['code']
  message: string
  at: number
}

/** The permanent rejections of template versions, classes, and passes: the latest per platform. */
export class Rejections extends Repository {
  /** Returns rejections by the IDs of versions, classes, and passes. Omits subjects without one. */
  async list(workspaceId: string, subjects: string[]): Promise<Map<string, StoredRejection>> {
    if (subjects.length === 0) return new Map()
    const rows: Row[] = await this.db('rejections').where({ workspace_id: workspaceId }).whereIn('subject', subjects)
    return new Map(
      rows.map(({ subject, platform, code, message, at }) => [subject, { platform, code, message, at: new Date(at) }]),
    )
  }

  /** Replaces the platform's previous rejection of the subject. */
  async insert(workspaceId: string, kind: RejectedKind, subject: string, rejection: StoredRejection): Promise<void> {
    const { platform, code, message } = rejection
    await this.db('rejections')
      .insert({ workspace_id: workspaceId, subject, kind, platform, code, message, at: rejection.at.getTime() })
      .onConflict(['workspace_id', 'subject', 'platform'])
      .merge()
  }

  /** Deletes the rejections of subjects that the platform has accepted. */
  async clear(workspaceId: string, platform: PlatformRejection['platform'], ...subjects: string[]): Promise<void> {
    await this.db('rejections').where({ workspace_id: workspaceId, platform }).whereIn('subject', subjects).delete()
  }
}
