import type { Knex } from 'knex'
import type { PlatformRejection } from '../../core/contract/wallets.ts'

/** A rejection as it is kept. */
export interface StoredRejection extends Omit<PlatformRejection, 'at'> {
  at: Date
}

/** What is refused: everything of a template version, a class that some of its passes share, or one pass. */
export type RejectedKind = 'version' | 'class' | 'pass'

interface Row {
  subject: string
  platform: PlatformRejection['platform']
  code: PlatformRejection['code']
  message: string
  at: number
}

/** What platforms refuse for good, the last word of each on a template version, a class or a pass. */
export class Rejections {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** By the ids of versions, classes and passes; those that no platform refuses are left out. */
  async list(workspaceId: string, subjects: string[]): Promise<Map<string, StoredRejection>> {
    if (subjects.length === 0) return new Map()
    const rows: Row[] = await this.db('rejections').where({ workspace_id: workspaceId }).whereIn('subject', subjects)
    return new Map(
      rows.map(({ subject, platform, code, message, at }) => [subject, { platform, code, message, at: new Date(at) }]),
    )
  }

  /** In the place of what the platform said before. */
  async insert(workspaceId: string, kind: RejectedKind, subject: string, rejection: StoredRejection): Promise<void> {
    const { platform, code, message } = rejection
    await this.db('rejections')
      .insert({ workspace_id: workspaceId, subject, kind, platform, code, message, at: rejection.at.getTime() })
      .onConflict(['workspace_id', 'subject', 'platform'])
      .merge()
  }

  /** The platform has taken them after all. */
  async clear(workspaceId: string, platform: PlatformRejection['platform'], ...subjects: string[]): Promise<void> {
    await this.db('rejections').where({ workspace_id: workspaceId, platform }).whereIn('subject', subjects).delete()
  }
}
