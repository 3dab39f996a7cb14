import type { JoinPageWrite } from '../../core/contract/join-pages.ts'
import { isTaken } from '../db/database-errors.ts'
import { field, findRecord, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { Repository } from '../db/repository.ts'

/** The settings of a page that are stored as JSON, because no query needs them in separate columns. */
export type JoinSettings = Pick<
  JoinPageWrite,
  'title' | 'intro' | 'fields' | 'labelFrom' | 'consent' | 'identity' | 'source'
>

const PAGE = mapping({
  templateId: field.text,
  workspaceId: field.text,
  slug: field.text,
  settings: field.json<JoinSettings>(),
  open: field.flag,
  closesAt: field.optionalTime,
  passLimit: field.optionalNumber,
  joined: field.number,
  createdAt: field.time,
  updatedAt: field.time,
})

export interface StoredJoinPage extends RecordOf<typeof PAGE> {}

export type JoinPageFields = Pick<StoredJoinPage, 'slug' | 'settings' | 'open' | 'closesAt' | 'passLimit'>

/** A page with the facts about its workspace that decide whether the page is available. */
export interface PublicJoinPage extends StoredJoinPage {
  workspace: { suspendedAt: Date | null; expiresAt: Date | null }
}

const WORKSPACE = mapping({ suspendedAt: field.optionalTime, expiresAt: field.optionalTime })

/** Thrown if another template has the slug. The transaction must be rolled back. */
export class SlugTaken extends Error {}

/** The pages where visitors create their own passes, at most one per template. */
export class JoinPages extends Repository {
  async find(workspaceId: string, templateId: string): Promise<StoredJoinPage | undefined> {
    return findRecord(this.one(workspaceId, templateId), PAGE.read)
  }

  /** Returns the page with the given slug, in any workspace. */
  async findPublic(slug: string): Promise<PublicJoinPage | undefined> {
    const row: (RowOf<typeof PAGE> & RowOf<typeof WORKSPACE>) | undefined = await this.db('join_pages')
      .join('workspaces', 'workspaces.id', 'join_pages.workspace_id')
      .where('join_pages.slug', slug)
      .first(PAGE.from('join_pages'), WORKSPACE.from('workspaces'))
    return row && { ...PAGE.read(row), workspace: WORKSPACE.read(row) }
  }

  /**
   * Creates or replaces the page of a template that the caller has locked. Returns `undefined` for a template of
   * another workspace.
   * @throws SlugTaken
   */
  async set(
    workspaceId: string,
    templateId: string,
    fields: JoinPageFields,
    at: Date,
  ): Promise<StoredJoinPage | undefined> {
    const changes = PAGE.write({ ...fields, updatedAt: at })
    const first = PAGE.write({ templateId, workspaceId, joined: 0, createdAt: at })
    try {
      const [stored]: RowOf<typeof PAGE>[] = await this.db('join_pages')
        .insert({ ...first, ...changes })
        .onConflict('template_id')
        .merge(Object.keys(changes))
        .where('join_pages.workspace_id', workspaceId)
        .returning('*')
      return stored && PAGE.read(stored)
    } catch (error) {
      throw isTaken(error) ? new SlugTaken() : error
    }
  }

  async delete(workspaceId: string, templateId: string): Promise<boolean> {
    return (await this.one(workspaceId, templateId).delete()) > 0
  }

  /** Counts a new pass of the page. Returns false if the page is full or deleted. Concurrent calls take turns. */
  async take(workspaceId: string, templateId: string): Promise<boolean> {
    const free = this.one(workspaceId, templateId).whereRaw('(pass_limit is null or joined < pass_limit)')
    return (await free.update({ joined: this.db.raw('joined + 1') })) > 0
  }

  /** Undoes `take` for a visitor who has a pass already. */
  async release(workspaceId: string, templateId: string): Promise<void> {
    await this.one(workspaceId, templateId)
      .where('joined', '>', 0)
      .update({ joined: this.db.raw('joined - 1') })
  }

  async existsInProject(workspaceId: string, projectId: string): Promise<boolean> {
    const page = this.db('join_pages')
      .join('templates', 'templates.id', 'join_pages.template_id')
      .where({ 'join_pages.workspace_id': workspaceId, 'templates.project_id': projectId })
    return (await page.first('join_pages.template_id')) !== undefined
  }

  private one(workspaceId: string, templateId: string) {
    return this.db('join_pages').where({ workspace_id: workspaceId, template_id: templateId })
  }
}
