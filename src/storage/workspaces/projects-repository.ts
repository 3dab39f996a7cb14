import type { Project } from '../../core/contract/projects.ts'
import { idBound, newId } from '../../core/ids.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { field, findRecord, mapping, type RecordOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { countsOf, HOUR_MS } from '../operations/counters.ts'
import { issuingPasses, lapsedPasses, UNISSUED } from '../passes/pass-row.ts'
import { type IdentityIds, identityFields, identityIdsOf } from './identities-repository.ts'

const PROJECT = mapping({
  id: field.text,
  name: field.text,
  description: field.text,
  color: field.plain<Project['color']>(),
  ...identityFields,
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredProject extends RecordOf<typeof PROJECT> {}

export type ProjectFields = Pick<Project, 'name' | 'description' | 'color'>

const WEEK_MS = 7 * 86_400_000

const SPEC: ListSpec = {
  name: 'projects',
  id: 'projects.id',
  sorts: {
    createdAt: { key: 'projects.created_at' },
    updatedAt: { key: 'projects.updated_at' },
    name: { key: 'projects.name', type: 'beginning' },
  },
}

export class Projects extends Repository {
  async insert(workspaceId: string, fields: ProjectFields, at: Date): Promise<StoredProject> {
    const project = { id: newId(at), ...fields, ...identityIdsOf({}), createdAt: at, updatedAt: at }
    await this.db('projects').insert({ ...PROJECT.write(project), workspace_id: workspaceId })
    return project
  }

  async find(workspaceId: string, id: string): Promise<StoredProject | undefined> {
    return findRecord(this.ofWorkspace(workspaceId).where({ id }), PROJECT.read)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredProject | undefined> {
    return findRecord(this.ofWorkspace(workspaceId).where({ id }).forUpdate(), PROJECT.read)
  }

  /**
   * Returns the IDs of up to two projects with the given name, oldest first, so that the caller can detect ambiguity.
   */
  async listIdsByName(workspaceId: string, name: string): Promise<string[]> {
    return this.ofWorkspace(workspaceId).where({ name }).orderBy('id').limit(2).pluck('id')
  }

  /** Returns the projects of all workspaces, for operators. */
  async listOfAll(): Promise<{ workspaceId: string; id: string }[]> {
    return this.db('projects').orderBy('id').select({ workspaceId: 'workspace_id' }, 'id')
  }

  list(workspaceId: string, request: ListRequest): Promise<ListPage<StoredProject>> {
    return listPage(this.db, this.ofWorkspace(workspaceId), SPEC, request, PROJECT.read)
  }

  async update(
    workspaceId: string,
    id: string,
    fields: Partial<ProjectFields & IdentityIds>,
    at: Date,
  ): Promise<StoredProject | undefined> {
    const [row] = await this.ofWorkspace(workspaceId)
      .where({ id })
      .update(PROJECT.write({ ...fields, updatedAt: at }))
      .returning('*')
    return row && PROJECT.read(row)
  }

  /**
   * Deletes a project and detaches its templates. The job `detach-project` detaches its passes. Returns false if the
   * project does not exist.
   */
  async delete(workspaceId: string, id: string): Promise<boolean> {
    if (!(await this.findForUpdate(workspaceId, id))) return false
    await this.db('templates').where({ workspace_id: workspaceId, project_id: id }).update({ project_id: null })
    return (await this.ofWorkspace(workspaceId).where({ id }).delete()) > 0
  }

  async counts(workspaceId: string, id: string, at: Date) {
    const now = at.getTime()
    const since = now - WEEK_MS
    const ofProject = { project_id: id }
    const counted = (counter: Parameters<typeof countsOf>[2]) =>
      countsOf(this.db, workspaceId, counter).where(ofProject).sum('n')
    const passes = () => this.db('passes').where({ workspace_id: workspaceId, ...ofProject })
    const issuing = passes().whereIn('id', issuingPasses(this.db, workspaceId)).whereIn('status', UNISSUED)
    // The counters cover whole hours, so count the passes in the first, incomplete hour of the week separately.
    const recent = passes().where('id', '>=', idBound(since + 1))
    const hour = Math.floor(since / HOUR_MS)
    const row: Record<string, number | null> = await this.db.first({
      templates: this.db('templates')
        .where({ workspace_id: workspaceId, ...ofProject, deleted_at: null })
        .count('*'),
      total: counted('passes'),
      issued: counted('passes').where({ kind: 'ISSUED' }),
      lapsed: lapsedPasses(this.db, workspaceId, now).where(ofProject).count('*'),
      issuing: issuing.count('*'),
      installs: counted('google-installs'),
      recent: counted('passes-by-hour').where('hour', '>', hour),
      first_hour: recent.where('id', '<', idBound((hour + 1) * HOUR_MS)).count('*'),
    })
    const n = (name: string) => row[name] ?? 0
    return {
      templateCount: n('templates'),
      livePassCount: n('issued') - n('lapsed') + n('issuing'),
      totalPassCount: n('total'),
      googleInstallCount: n('installs'),
      passesAddedLast7Days: n('recent') + n('first_hour'),
    }
  }

  private ofWorkspace(workspaceId: string) {
    return this.inScope(this.db('projects').where('projects.workspace_id', workspaceId), 'projects.id')
  }
}
