import type { Knex } from 'knex'
import type { PlatformRefusal } from '../../core/contract/wallets.ts'

/** A refusal as it is kept. */
export interface StoredRefusal extends Omit<PlatformRefusal, 'at'> {
  at: Date
}

/** What is refused: everything of a template version, a class that some of its passes share, or one pass. */
export type RefusedKind = 'version' | 'class' | 'pass'

interface Row {
  subject: string
  platform: PlatformRefusal['platform']
  code: PlatformRefusal['code']
  message: string
  at: number
}

/** What platforms refuse for good, the last word of each on a template version, a class or a pass. */
export class Refusals {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** By the ids of versions, classes and passes; those that no platform refuses are left out. */
  async list(workspaceId: string, subjects: string[]): Promise<Map<string, StoredRefusal>> {
    if (subjects.length === 0) return new Map()
    const rows: Row[] = await this.db('refusals').where({ workspace_id: workspaceId }).whereIn('subject', subjects)
    return new Map(
      rows.map(({ subject, platform, code, message, at }) => [subject, { platform, code, message, at: new Date(at) }]),
    )
  }

  /** In the place of what the platform said before. */
  async insert(workspaceId: string, kind: RefusedKind, subject: string, refusal: StoredRefusal): Promise<void> {
    const { platform, code, message } = refusal
    await this.db('refusals')
      .insert({ workspace_id: workspaceId, subject, kind, platform, code, message, at: refusal.at.getTime() })
      .onConflict(['workspace_id', 'subject', 'platform'])
      .merge()
  }

  /** The platform has taken them after all. */
  async clear(workspaceId: string, platform: PlatformRefusal['platform'], ...subjects: string[]): Promise<void> {
    await this.db('refusals').where({ workspace_id: workspaceId, platform }).whereIn('subject', subjects).delete()
  }
}
