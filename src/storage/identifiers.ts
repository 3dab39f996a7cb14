import type { Knex } from 'knex'
import { runPrepared } from './dialect.ts'

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
    const bindings = [workspaceId, Buffer.from(digest), passId, false]
    const key = { workspace_id: '', digest: '', pass_id: '', active: '' }
    const rows = await runPrepared(this.db, 'stale-identifier', bindings, () =>
      this.db('pass_identifiers').where(key).select('pass_id'),
    )
    return rows.length > 0
  }

  private async matches(
    workspaceId: string,
    digest: Uint8Array,
    active: boolean,
    projectId?: string,
  ): Promise<string[]> {
    const project = projectId === undefined ? [] : [projectId]
    const bindings = [workspaceId, Buffer.from(digest), active, ...project, MAX_MATCHES]
    const name = project.length === 0 ? 'match-identifier' : 'match-identifier-in-project'
    const rows = await runPrepared<{ pass_id: string }>(this.db, name, bindings, () => {
      const query = this.db('pass_identifiers')
        .where({ 'pass_identifiers.workspace_id': '', digest: '', active: '' })
        .orderBy('pass_id')
        .limit(1)
        .select('pass_id')
      if (project.length === 0) return query
      return query.join('passes', 'passes.id', 'pass_identifiers.pass_id').where('passes.project_id', '')
    })
    return rows.map((row) => row.pass_id)
  }
}
