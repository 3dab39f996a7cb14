import type { Definition, Overrides, PassType, WrittenDefinition } from '../../core/contract/schemas/definition.ts'
import type { Languages } from '../../core/contract/schemas/language-tags.ts'
import { createFairCache } from '../../core/fair-cache.ts'
import { newId } from '../../core/ids.ts'
import { inLanguage } from '../../core/rules/template/definition-languages.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'
import { keyOfJson } from '../db/values.ts'
import { countsOf } from '../operations/counters.ts'
import { defaultsOf, identityFields } from '../workspaces/identities-repository.ts'

const SUMMARY = mapping({
  id: field.text,
  templateId: field.text,
  version: field.number,
  stage: field.plain<'draft' | 'published'>(),
  createdAt: field.time,
  publishedAt: field.optionalTime,
  updatedAt: field.time,
})

export interface StoredVersionSummary extends RecordOf<typeof SUMMARY> {}

export interface StoredVersion extends StoredVersionSummary {
  definition: WrittenDefinition
}

interface Row extends RowOf<typeof SUMMARY> {
  definition: string
}

const PUBLISHED = mapping({
  id: field.text,
  version: field.number,
  templateId: field.text,
  templateName: field.text,
  passType: field.plain<PassType>(),
  projectId: field.optionalText,
  projectName: field.optionalText,
  ...identityFields,
})

/**
 * A published version with the template data that rendering needs, and the identities of its new passes. The version is
 * immutable.
 */
export interface PublishedVersion extends RecordOf<typeof PUBLISHED> {
  /** The definition in its default language. */
  definition: Definition
}

interface PublishedRow extends RowOf<typeof PUBLISHED> {
  workspace_id: string
  definition: string
}

const DETAIL = { ...SUMMARY.from('template_versions'), definition: 'template_versions.definition' }

/** The maximum number of a project's templates whose languages a broadcast reads. */
const MAX_TEMPLATES = 1_000

/** The versions of templates: at most one draft, and published versions, which are immutable. */
export class TemplateVersions extends Repository {
  async insert(
    workspaceId: string,
    templateId: string,
    version: number,
    definition: WrittenDefinition,
    at: Date,
  ): Promise<StoredVersion> {
    const given = { id: newId(at), templateId, version, stage: 'draft', publishedAt: null } as const
    const summary: StoredVersionSummary = { ...given, createdAt: at, updatedAt: at }
    const row = { ...SUMMARY.write(summary), workspace_id: workspaceId, definition: JSON.stringify(definition) }
    await this.db('template_versions').insert(row)
    return toVersion(row)
  }

  /** Returns a version, unless its template is deleted. */
  async find(workspaceId: string, id: string): Promise<StoredVersion | undefined> {
    return findRecord(this.live(workspaceId).where('template_versions.id', id).select(DETAIL), toVersion)
  }

  async findForUpdate(workspaceId: string, id: string): Promise<StoredVersion | undefined> {
    const one = this.live(workspaceId).where('template_versions.id', id).select(DETAIL)
    return findRecord(one.forUpdate('template_versions'), toVersion)
  }

  /** Returns the version with the highest number; `undefined` if the template has none. */
  async findNewest(workspaceId: string, templateId: string): Promise<StoredVersion | undefined> {
    return findRecord(this.newestFirst(workspaceId, templateId).select(DETAIL), toVersion)
  }

  /** Returns the versions without definitions, newest first. */
  async list(workspaceId: string, templateId: string): Promise<StoredVersionSummary[]> {
    const versions = this.newestFirst(workspaceId, templateId)
    return listRecords(versions.select(SUMMARY.from('template_versions')), SUMMARY.read)
  }

  /** Replaces the definition of a draft that the caller has locked. */
  async setDefinition(workspaceId: string, id: string, definition: WrittenDefinition, at: Date): Promise<void> {
    await this.db('template_versions')
      .where({ workspace_id: workspaceId, id })
      .update({ definition: JSON.stringify(definition), updated_at: at.getTime() })
  }

  /** Publishes a draft, which the caller has locked. Publishing cannot be undone. */
  async setPublished(workspaceId: string, id: string, at: Date): Promise<void> {
    await this.db('template_versions')
      .where({ workspace_id: workspaceId, id })
      .update({ stage: 'published', published_at: at.getTime(), updated_at: at.getTime() })
  }

  /** Deletes a draft that the caller has locked. */
  async delete(workspaceId: string, id: string): Promise<void> {
    await this.db('template_versions').where({ workspace_id: workspaceId, id }).delete()
  }

  /** Returns the versions from which new passes of the templates are issued. Omits templates without such a version. */
  async listNewestPublished(workspaceId: string, templateIds: string[]): Promise<PublishedVersion[]> {
    const newest = this.inScope(this.rendering(workspaceId), 'templates.project_id')
      .whereRaw('template_versions.id = templates.published_version_id')
      .whereNull('templates.deleted_at')
      .whereIn('templates.id', templateIds)
    return listRecords(newest, toPublished)
  }

  /** Returns the versions of existing passes, including those of deleted templates. */
  async listByIds(workspaceId: string, ids: string[]): Promise<PublishedVersion[]> {
    return listRecords(this.rendering(workspaceId).whereIn('template_versions.id', ids), toPublished)
  }

  /**
   * Returns the IDs of the published versions before a version, ordered by number. Passes can have been rendered with
   * any of these versions.
   */
  listPublishedBefore(workspaceId: string, templateId: string, version: number): Promise<string[]> {
    return this.db('template_versions')
      .where({ workspace_id: workspaceId, template_id: templateId, stage: 'published' })
      .where('version', '<', version)
      .orderBy('version')
      .pluck('id')
  }

  async listOverrides(workspaceId: string, ids: string[], platform: keyof Overrides): Promise<Map<string, unknown>> {
    const rows: { id: string; overrides: string | null }[] = await this.db('template_versions')
      .where({ workspace_id: workspaceId })
      .whereIn('id', ids)
      .select('id', this.db.raw(`${keyOfJson(this.db, 'definition', platform)} as overrides`))
    return new Map(rows.map(({ id, overrides }) => [id, overrides === null ? {} : JSON.parse(overrides)]))
  }

  /**
   * Returns the distinct languages of the published versions of a project's templates, and of the templates of its
   * passes. Omits versions without languages.
   */
  async listLanguagesOfProject(workspaceId: string, projectId: string): Promise<Languages[]> {
    const templates = await countsOf(this.db, workspaceId, 'passes')
      .where({ project_id: projectId })
      .groupBy('template_id')
      .having(this.db.raw('sum(n) > 0'))
      .limit(MAX_TEMPLATES)
      .pluck('template_id')
    const rows: { languages: string | null }[] = await this.db('template_versions')
      .where({ workspace_id: workspaceId, stage: 'published' })
      .where((query) =>
        query
          .whereIn('template_id', templates)
          .orWhereIn('template_id', (ofProject) =>
            ofProject.from('templates').where({ workspace_id: workspaceId, project_id: projectId }).select('id'),
          ),
      )
      .distinct(this.db.raw(`${keyOfJson(this.db, 'definition', 'languages')} as languages`))
    return rows.flatMap((row) => (row.languages === null ? [] : [JSON.parse(row.languages)]))
  }

  /** Returns a published version by number, even if its template is deleted. */
  async findPublished(workspaceId: string, templateId: string, version: number): Promise<PublishedVersion | undefined> {
    const published = this.rendering(workspaceId)
      .where({ template_id: templateId, stage: 'published' })
      // Cast the number. Otherwise, PostgreSQL rejects a number that is too large for the column.
      .whereRaw('version = cast(? as bigint)', [version])
    return findRecord(published, toPublished)
  }

  private newestFirst(workspaceId: string, templateId: string) {
    return this.live(workspaceId).where({ template_id: templateId }).orderBy('version', 'desc')
  }

  private live(workspaceId: string) {
    const live = this.db('template_versions')
      .join('templates', 'templates.id', 'template_versions.template_id')
      .where({ 'template_versions.workspace_id': workspaceId, deleted_at: null })
    return this.inScope(live, 'templates.project_id')
  }

  private rendering(workspaceId: string) {
    return this.db('template_versions')
      .join('templates', 'templates.id', 'template_versions.template_id')
      .join('workspaces', 'workspaces.id', 'template_versions.workspace_id')
      .leftJoin('projects', 'projects.id', 'templates.project_id')
      .where('template_versions.workspace_id', workspaceId)
      .select('template_versions.*', {
        template_name: 'templates.name',
        pass_type: 'templates.pass_type',
        project_id: 'projects.id',
        project_name: 'projects.name',
        ...defaultsOf(this.db),
      })
  }
}

function toVersion(row: Row): StoredVersion {
  return { ...SUMMARY.read(row), definition: JSON.parse(row.definition) }
}

function toPublished(row: PublishedRow): PublishedVersion {
  return { ...PUBLISHED.read(row), definition: inLanguage(parseOnce(row)) }
}

/** The maximum total length of the cached definitions, as JSON. */
const MAX_KEPT = 4 * 1024 * 1024

const parsed = createFairCache<{ json: string; definition: WrittenDefinition }>(MAX_KEPT, ({ json }) => json.length)

/** Parses a definition, or returns the cached object. Other caches use this object as their key. */
function parseOnce({ workspace_id: workspaceId, id, definition: json }: PublishedRow): WrittenDefinition {
  const known = parsed.get(workspaceId, id)
  if (known?.json === json) return known.definition
  const definition = JSON.parse(json)
  parsed.set(workspaceId, id, { json, definition })
  return definition
}
