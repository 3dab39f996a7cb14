import type { Knex } from 'knex'
import type { Project } from '../../core/contract/projects.ts'
import { newId } from '../../core/ids.ts'
import { forUpdate } from '../db/dialect.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list.ts'
import { issuingPasses } from '../passes/pass-row.ts'

interface Row {
  id: string
  name: string
  description: string
  color: Project['color']
  created_at: number
  updated_at: number
}

/** A project as it is kept. */
export interface StoredProject extends Omit<Project, 'createdAt' | 'updatedAt'> {
  createdAt: Date
  updatedAt: Date
}

export type ProjectFields = Pick<Project, 'name' | 'description' | 'color'>

export interface ProjectCounts {
  templateCount: number
  livePassCount: number
  totalPassCount: number
  googleInstallCount: number
  passesAddedLast7Days: number
}

const DAY_MS = 86_400_000

const SPEC: ListSpec = {
  name: 'projects',
  id: 'projects.id',
  sorts: {
    createdAt: { key: 'projects.created_at' },
    updatedAt: { key: 'projects.updated_at' },
    name: { key: 'projects.name', type: 'beginning' },
  },
}

export class Projects {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  async insert(workspaceId: string, fields: ProjectFields, at: Date): Promise<StoredProject> {
    const row: Row = { id: newId(at), ...fields, created_at: at.getTime(), updated_at: at.getTime() }
    await this.db('projects').insert({ ...row, workspace_id: workspaceId })
    return toProject(row)
  }

  async find(workspaceId: string, id: string): Promise<StoredProject | undefined> {
    const row: Row | undefined = await this.db('projects').where({ workspace_id: workspaceId, id }).first()
    return row && toProject(row)
  }

  /** As find, and nobody else changes or deletes the project until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredProject | undefined> {
    const row: Row | undefined = await forUpdate(
      this.db,
      this.db('projects').where({ workspace_id: workspaceId, id }),
    ).first()
    return row && toProject(row)
  }

  /** Of several with one name the oldest. */
  async findIdByName(workspaceId: string, name: string): Promise<string | undefined> {
    const row: Pick<Row, 'id'> | undefined = await this.db('projects')
      .where({ workspace_id: workspaceId, name })
      .orderBy('id')
      .first('id')
    return row?.id
  }

  async list(workspaceId: string, request: ListRequest): Promise<ListPage<StoredProject>> {
    const page = await listPage<Row>(
      this.db,
      this.db('projects').where('projects.workspace_id', workspaceId),
      SPEC,
      request,
      (query) => query.select('projects.*'),
    )
    return { ...page, rows: page.rows.map(toProject) }
  }

  async update(
    workspaceId: string,
    id: string,
    fields: Partial<ProjectFields>,
    at: Date,
  ): Promise<StoredProject | undefined> {
    const [row] = await this.db('projects')
      .where({ workspace_id: workspaceId, id })
      .update({ ...fields, updated_at: at.getTime() })
      .returning('*')
    return row && toProject(row)
  }

  /** False when there is none. Templates leave it at once; its passes are detached by the job `detach-project`. */
  async delete(workspaceId: string, id: string): Promise<boolean> {
    if (!(await this.findForUpdate(workspaceId, id))) return false
    await this.db('templates').where({ workspace_id: workspaceId, project_id: id }).update({ project_id: null })
    return (await this.db('projects').where({ workspace_id: workspaceId, id }).delete()) > 0
  }

  async counts(workspaceId: string, id: string, at: Date): Promise<ProjectCounts> {
    const now = at.getTime()
    const isLive = `status = 'ISSUED' and (expires_at is null or expires_at > ${now})`
    const [templates, passes, issuing, installs] = await Promise.all([
      this.db('templates')
        .where({ workspace_id: workspaceId, project_id: id, deleted_at: null })
        .count({ n: '*' })
        .first(),
      this.db('passes')
        .where({ workspace_id: workspaceId, project_id: id })
        .first({
          total: this.db.raw('count(*)'),
          live: this.db.raw(`coalesce(sum(case when ${isLive} then 1 else 0 end), 0)`),
          recent: this.db.raw('coalesce(sum(case when created_at > ? then 1 else 0 end), 0)', [now - 7 * DAY_MS]),
        }),
      this.db('passes')
        .where({ workspace_id: workspaceId, project_id: id })
        .whereIn('id', issuingPasses(this.db, workspaceId))
        .whereIn('status', ['QUEUED', 'ISSUING'])
        .count({ n: '*' })
        .first(),
      this.db('google_objects')
        .join('passes', 'passes.id', 'google_objects.pass_id')
        .where({ 'passes.workspace_id': workspaceId, 'passes.project_id': id })
        .whereNotNull('google_objects.installed_at')
        .count({ n: '*' })
        .first(),
    ])
    return {
      templateCount: Number(templates?.n),
      livePassCount: Number(passes?.live) + Number(issuing?.n),
      totalPassCount: Number(passes?.total),
      googleInstallCount: Number(installs?.n),
      passesAddedLast7Days: Number(passes?.recent),
    }
  }
}

function toProject(row: Row): StoredProject {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    color: row.color,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}
