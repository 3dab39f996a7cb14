import type { Knex } from 'knex'

/** The most passes of one identifier that are looked at. */
const MAX_MATCHES = 1_000

/** What scanners read off passes, by SHA-256. */
export class Identifiers {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /**
   * The passes that carry an identifier now, or else those that once did. Of several, those of the project alone where
   * one is named and has any.
   */
  async listPassIds(workspaceId: string, digest: Uint8Array, projectId?: string): Promise<string[]> {
    for (const active of [true, false]) {
      const found = await this.matches(workspaceId, digest, active)
      if (found.length > 1 && projectId !== undefined) {
        const inProject = await this.matches(workspaceId, digest, active, projectId)
        if (inProject.length > 0) return inProject
      }
      if (found.length > 0) return found
    }
    return []
  }

  /** Whether the pass carried the identifier once and does so no more. */
  async isStale(workspaceId: string, digest: Uint8Array, passId: string): Promise<boolean> {
    const key = { workspace_id: workspaceId, digest, pass_id: passId, active: false }
    return (await this.db('pass_identifiers').where(key).first('pass_id')) !== undefined
  }

  private matches(workspaceId: string, digest: Uint8Array, active: boolean, projectId?: string): Promise<string[]> {
    const query = this.db('pass_identifiers')
      .where({ 'pass_identifiers.workspace_id': workspaceId, digest, active })
      .orderBy('pass_id')
      .limit(MAX_MATCHES)
    if (projectId !== undefined) {
      query.join('passes', 'passes.id', 'pass_identifiers.pass_id').where('passes.project_id', projectId)
    }
    return query.pluck('pass_id') as unknown as Promise<string[]>
  }
}
