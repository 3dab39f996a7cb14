import type { Knex } from 'knex'
import { runPrepared } from '../db/dialect.ts'

/** The most passes of one identifier that are looked at. */
const MAX_MATCHES = 1_000

/** What scanners read off passes, by SHA-256. */
export class Identifiers {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /**
   * The passes that carry an identifier now, or else those that once did. Where a project is named and has any of
   * either, those of the project alone: what a pass of its own carried once goes before what one elsewhere carries.
   */
  async listPassIds(workspaceId: string, digest: Uint8Array, projectId?: string): Promise<string[]> {
    for (const project of projectId === undefined ? [undefined] : [projectId, undefined]) {
      const found = await this.matches(workspaceId, digest, project)
      const now = found.filter(({ is_active }) => is_active === 1)
      if (found.length > 0) return (now.length > 0 ? now : found).map(({ pass_id }) => pass_id)
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

  /** Both those that carry the identifier now and those that once did, the first of each by id. */
  private matches(workspaceId: string, digest: Uint8Array, projectId: string | undefined): Promise<Match[]> {
    const inProject = projectId === undefined ? '' : 'and passes.project_id = ?'
    const join = projectId === undefined ? '' : 'join passes on passes.id = pass_identifiers.pass_id'
    const part = (isActive: 0 | 1) => `select * from (
      select pass_id, ${isActive} as is_active from pass_identifiers ${join}
      where pass_identifiers.workspace_id = ? and digest = ? and active = ? ${inProject}
      order by pass_id limit ?) as part_${isActive}`
    const valuesOf = (isActive: boolean) => [
      workspaceId,
      Buffer.from(digest),
      isActive,
      ...(projectId === undefined ? [] : [projectId]),
      MAX_MATCHES,
    ]
    const values = [...valuesOf(true), ...valuesOf(false)]
    const name = projectId === undefined ? 'match-identifier' : 'match-identifier-in-project'
    return runPrepared<Match>(this.db, name, values, () =>
      this.db.select('*').from(this.db.raw(`(${part(1)} union all ${part(0)}) as matches`, values)),
    )
  }
}

interface Match {
  pass_id: string
  is_active: 0 | 1
}
