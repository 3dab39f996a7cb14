import type { PassType } from '../../core/contract/schemas/definition.ts'
import type { Template } from '../../core/contract/templates/templates.ts'
import { newId } from '../../core/ids.ts'
import { isTaken } from '../db/database-errors.ts'
import { type ListPage, type ListRequest, type ListSpec, listPage } from '../db/list-query.ts'
import { field, findRecord, mapping, type RecordOf } from '../db/record.ts'
import { Repository, whereOneOrNull } from '../db/repository.ts'

const TEMPLATE = mapping({
  id: field.text,
  key: field.optionalText,
  projectId: field.optionalText,
  name: field.text,
  description: field.text,
  passType: field.plain<PassType>(),
  latestPublishedVersion: field.inColumn('published_version', field.optionalNumber),
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredTemplate extends RecordOf<typeof TEMPLATE> {}

/** The fields for creating or changing a template. A null key removes the key. */
export type TemplateFields = Pick<Template, 'name' | 'description' | 'passType' | 'projectId'> & {
  key?: string | null | undefined
}

/** Thrown if another template of the workspace has the key. The transaction must be rolled back. */
export class KeyTaken extends Error {}

export interface TemplateListRequest extends ListRequest {
  /** Project IDs, or the text `null` for templates without a project. */
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
 * The templates of workspaces. Rows of deleted templates remain, because passes still use them, but no method of this
 * class returns such a row.
 */
export class Templates extends Repository {
  /** @throws KeyTaken */
  async insert(workspaceId: string, fields: TemplateFields, at: Date): Promise<StoredTemplate> {
    const { key = null, name, description, passType, projectId } = fields
    const given = { key, name, description, passType, projectId }
    const template = { ...given, id: newId(at), latestPublishedVersion: null, createdAt: at, updatedAt: at }
    const row = { ...TEMPLATE.write(template), workspace_id: workspaceId, latest_version: 0 }
    await rejectTakenKey(fields, async () => await this.db('templates').insert(row))
    return template
  }

  /** Returns a template that is not deleted. */
  async find(workspaceId: string, id: string): Promise<StoredTemplate | undefined> {
    return findRecord(this.live(workspaceId).where({ id }), TEMPLATE.read)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredTemplate | undefined> {
    return findRecord(this.live(workspaceId).where({ id }).forUpdate(), TEMPLATE.read)
  }

  async list(workspaceId: string, request: TemplateListRequest): Promise<ListPage<StoredTemplate>> {
    const query = this.live(workspaceId)
    const projectIds = request.projectId?.map((id) => (id === 'null' ? null : id))
    if (projectIds) whereOneOrNull(query, 'templates.project_id', projectIds)
    if (request.key) query.whereIn('templates.key', request.key)
    return listPage(this.db, query, SPEC, request, TEMPLATE.read)
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
    const columns = TEMPLATE.write({ ...fields, updatedAt: at })
    const [row] = await rejectTakenKey(
      fields,
      async () => await this.live(workspaceId).where({ id }).update(columns).returning('*'),
    )
    return row && TEMPLATE.read(row)
  }

  /** Marks a template as deleted. Returns false if the template does not exist. */
  async delete(workspaceId: string, id: string, at: Date): Promise<boolean> {
    return (await this.live(workspaceId).where({ id }).update({ deleted_at: at.getTime() })) > 0
  }

  async takeVersionNumber(workspaceId: string, id: string): Promise<number | undefined> {
    const [row] = await this.live(workspaceId)
      .where({ id })
      .update({ latest_version: this.db.raw('latest_version + 1') })
      .returning('latest_version')
    return row?.latest_version
  }

  /**
   * Sets the version from which new passes are issued: the published version with the highest number, even if another
   * version was published later.
   */
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
