import type { PassType } from '../../core/contract/definition.ts'
import type { Template } from '../../core/contract/templates.ts'
import { newId } from '../../core/ids.ts'
import { isTaken } from '../db/database-errors.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { Repository } from '../db/repository.ts'

interface Row {
  id: string
  key: string | null
  project_id: string | null
  name: string
  description: string
  pass_type: PassType
  latest_version: number
  published_version: number | null
  published_version_id: string | null
  created_at: number
  updated_at: number
}

export interface StoredTemplate extends Omit<Template, 'createdAt' | 'updatedAt'> {
  createdAt: Date
  updatedAt: Date
}

/** The fields for creating or changing a template. A null key removes the key. */
export type TemplateFields = Pick<Template, 'name' | 'description' | 'passType' | 'projectId'> & {
  key?: string | null | undefined
}

/** Thrown if another template of the workspace has the key. The transaction has failed. */
export class KeyTaken extends Error {}

export interface TemplateListRequest extends ListRequest {
  /** Project IDs, or `null` for templates without a project. */
  projectId?: string[] | undefined
  key?: string[] | undefined
}

const SPEC: ListSpec = {
  name: 'templates',
  id: 'templates.id',
  sorts: {
    createdAt: { key: 'templates.created_at' },
    updatedAt: { key: 'templates.updated_at' },
    name: { key: 'templates.name', type: 'beginning' },
  },
}

/**
 * The templates of workspaces. Deleted templates remain as rows, because issued passes still use them, but no finder returns
 * them.
 */
export class Templates extends Repository {
  /** @throws KeyTaken */
  async insert(workspaceId: string, fields: TemplateFields, at: Date): Promise<StoredTemplate> {
    const row: Row = {
      id: newId(at),
      ...toColumns(fields),
      key: fields.key ?? null,
      latest_version: 0,
      published_version: null,
      published_version_id: null,
      created_at: at.getTime(),
      updated_at: at.getTime(),
    }
    await rejectTakenKey(fields, async () => await this.db('templates').insert({ ...row, workspace_id: workspaceId }))
    return toTemplate(row)
  }

  /** Returns a template that is not deleted. */
  async find(workspaceId: string, id: string): Promise<StoredTemplate | undefined> {
    const row = await this.live(workspaceId).where({ id }).first()
    return row && toTemplate(row)
  }

  /** Like `find`, but locks the template until the transaction ends. */
  async findForUpdate(workspaceId: string, id: string): Promise<StoredTemplate | undefined> {
    const row = await this.live(workspaceId).where({ id }).forUpdate().first()
    return row && toTemplate(row)
  }

  async list(workspaceId: string, request: TemplateListRequest): Promise<ListPage<StoredTemplate>> {
    const query = this.live(workspaceId)
    const ids = request.projectId?.filter((id) => id !== 'null')
    if (request.projectId && ids) {
      query.where((or) => {
        or.whereIn('templates.project_id', ids)
        if (ids.length < request.projectId!.length) or.orWhereNull('templates.project_id')
      })
    }
    if (request.key) query.whereIn('templates.key', request.key)
    const page = await listPage<Row>(this.db, query, SPEC, request, (rows) => rows.select('templates.*'))
    return { ...page, rows: page.rows.map(toTemplate) }
  }

  /**
   * Returns `undefined` if the template does not exist.
   * @throws KeyTaken
   */
  async update(
    workspaceId: string,
    id: string,
    fields: Partial<TemplateFields>,
    at: Date,
  ): Promise<StoredTemplate | undefined> {
    const columns = { ...toColumns(fields), updated_at: at.getTime() }
    const [row] = await rejectTakenKey(
      fields,
      async () => await this.live(workspaceId).where({ id }).update(columns).returning('*'),
    )
    return row && toTemplate(row)
  }

  /** Hides a template. Returns false if it does not exist. */
  async delete(workspaceId: string, id: string, at: Date): Promise<boolean> {
    return (await this.live(workspaceId).where({ id }).update({ deleted_at: at.getTime() })) > 0
  }

  /** Reserves the next version number; `undefined` if the template does not exist. */
  async takeVersionNumber(workspaceId: string, id: string): Promise<number | undefined> {
    const [row] = await this.live(workspaceId)
      .where({ id })
      .update({ latest_version: this.db.raw('latest_version + 1') })
      .returning('latest_version')
    return row?.latest_version
  }

  /** Sets the version from which new passes are issued: the newest published one, regardless of the order of publication. */
  async setPublished(
    workspaceId: string,
    id: string,
    version: { id: string; version: number },
    at: Date,
  ): Promise<void> {
    await this.live(workspaceId)
      .where({ id })
      .where((or) => or.whereNull('published_version').orWhere('published_version', '<', version.version))
      .update({ published_version: version.version, published_version_id: version.id, updated_at: at.getTime() })
  }

  private live(workspaceId: string) {
    const live = this.db('templates').where({ 'templates.workspace_id': workspaceId, deleted_at: null })
    return this.inScope(live, 'templates.project_id')
  }
}

async function rejectTakenKey<T>({ key }: Partial<TemplateFields>, write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    throw key && isTaken(error) ? new KeyTaken() : error
  }
}

function toColumns({ key, passType, projectId, name, description }: Partial<TemplateFields>) {
  return {
    ...(key !== undefined && { key }),
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(passType !== undefined && { pass_type: passType }),
    ...(projectId !== undefined && { project_id: projectId }),
  } as Pick<Row, 'key' | 'name' | 'description' | 'pass_type' | 'project_id'>
}

function toTemplate(row: Row): StoredTemplate {
  return {
    id: row.id,
    key: row.key,
    projectId: row.project_id,
    name: row.name,
    description: row.description,
    passType: row.pass_type,
    latestPublishedVersion: row.published_version,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}
