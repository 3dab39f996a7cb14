import type { Knex } from 'knex'
import type { Image } from '../../core/contract/images.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { forShare, forUpdate } from '../db/dialect.ts'

/** An image without its bytes. */
export interface StoredImage {
  /** Made of the workspace and the bytes: see contentId. */
  id: string
  contentType: Image['contentType']
  /** In pixels. */
  width: number
  height: number
  /** The length of the file. */
  bytes: number
}

/** An image with its file. */
export interface StoredImageData extends StoredImage {
  data: Uint8Array
}

/** A file made of an image, by the name of its size, which its maker chooses. */
export interface StoredImageFile {
  size: string
  data: Uint8Array
}

const RECORD = { id: 'id', contentType: 'content_type', width: 'width', height: 'height', bytes: 'bytes' }

/** Images of templates, and the files that are made of them for wallets. */
export class Images {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** False when the same bytes are there already. */
  async insert(workspaceId: string, image: StoredImageData, at: Date): Promise<boolean> {
    const inserted = await this.db('images')
      .insert({
        id: image.id,
        workspace_id: workspaceId,
        content_type: image.contentType,
        width: image.width,
        height: image.height,
        bytes: image.bytes,
        data: image.data,
        created_at: at.getTime(),
      })
      .onConflict('id')
      .ignore()
      .returning('id')
    return inserted.length > 0
  }

  /** An image without its bytes. */
  async find(workspaceId: string, id: string): Promise<StoredImage | undefined> {
    return this.db('images').where({ workspace_id: workspaceId, id }).first(RECORD)
  }

  /** Those of the ids that the workspace has. */
  async list(workspaceId: string, ids: string[]): Promise<StoredImage[]> {
    return this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).select(RECORD)
  }

  /** Keeps what is there already: two servers may have made the same. */
  async insertFiles(workspaceId: string, imageId: string, files: StoredImageFile[]): Promise<void> {
    const rows = files.map(({ size, data }) => ({ image_id: imageId, workspace_id: workspaceId, size, data }))
    if (rows.length > 0) await this.db('image_files').insert(rows).onConflict(['image_id', 'size']).ignore()
  }

  /** Those of the sizes that were made; without a workspace, as findPublic. */
  async listFiles(imageId: string, sizes: string[]): Promise<StoredImageFile[]> {
    return this.db('image_files').where({ image_id: imageId }).whereIn('size', sizes).select('size', 'data')
  }

  /** The ids among these that the workspace has. */
  async listKnown(workspaceId: string, ids: string[]): Promise<Set<string>> {
    return new Set<string>(await this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).pluck('id'))
  }

  /** Whether there is such an image, in any workspace. */
  async isPublic(id: string): Promise<boolean> {
    return (await this.db('images').where({ id }).first('id')) !== undefined
  }

  /** As listKnown, and none of them is deleted until the transaction ends. */
  async lockKnown(workspaceId: string, ids: string[]): Promise<Set<string>> {
    const ours = this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).orderBy('id').select('id')
    const rows: { id: string }[] = await forShare(this.db, ours)
    return new Set(rows.map(({ id }) => id))
  }

  /** Notes which passes have which images; the caller has locked the images. */
  async insertUses(workspaceId: string, uses: { passId: string; imageId: string }[]): Promise<void> {
    const rows = uses.map(({ passId, imageId }) => ({ workspace_id: workspaceId, image_id: imageId, pass_id: passId }))
    await insertRows(this.db, 'pass_images', rows, 'on conflict do nothing')
  }

  /**
   * Takes its images from a pass, those that it had before among them, and deletes what no other pass has and no definition
   * names. The caller holds the pass.
   * @param kept stay with the pass
   */
  async deleteOfPass(workspaceId: string, passId: string, kept: readonly string[] = []): Promise<void> {
    const ids: string[] = await this.ofPass(workspaceId, passId).whereNotIn('image_id', kept).pluck('image_id')
    if (ids.length === 0) return
    const ours = this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids)
    // Who gives one to another pass at this moment is waited for, so that it is seen below.
    await forUpdate(this.db, ours.clone().orderBy('id').select('id'))
    await this.ofPass(workspaceId, passId).whereIn('image_id', ids).delete()
    const shared: string[] = await this.db('pass_images')
      .where({ workspace_id: workspaceId })
      .whereIn('image_id', ids)
      .pluck('image_id')
    const own = ids.filter((id) => !shared.includes(id))
    const named = await this.listNamed(workspaceId, own)
    const free = own.filter((id) => !named.some((definition) => definition.includes(id)))
    await this.db('image_files').where({ workspace_id: workspaceId }).whereIn('image_id', free).delete()
    await this.db('images').where({ workspace_id: workspaceId }).whereIn('id', free).delete()
  }

  /** The definitions that hold one of the ids, drafts among them. */
  private async listNamed(workspaceId: string, ids: string[]): Promise<string[]> {
    if (ids.length === 0) return []
    return this.db('template_versions')
      .where({ workspace_id: workspaceId })
      .where((any) => {
        for (const id of ids) any.orWhere('definition', 'like', `%${id}%`)
      })
      .pluck('definition')
  }

  private ofPass(workspaceId: string, passId: string) {
    return this.db('pass_images').where({ workspace_id: workspaceId, pass_id: passId })
  }

  /** The one read without a workspace: images are public, and an id is a digest that nobody can guess. */
  async findPublic(id: string): Promise<(StoredImageData & { workspaceId: string }) | undefined> {
    return this.db('images')
      .where({ id })
      .first({ ...RECORD, workspaceId: 'workspace_id', data: 'data' })
  }
}
