import type { Image } from '../../core/contract/templates/images.ts'
import { insertRows } from '../db/bulk-rows.ts'
import { field, findRecord, listRecords, mapping, type RecordOf, type RowOf } from '../db/record.ts'
import { insertNew, Repository } from '../db/repository.ts'

const IMAGE = mapping({
  /** The ID, which is derived from the workspace and the bytes (see `contentId`). */
  id: field.text,
  contentType: field.plain<Image['contentType']>(),
  /** The width in pixels. */
  width: field.number,
  height: field.number,
  bytes: field.number,
})

/** An image without its bytes. */
export interface StoredImage extends RecordOf<typeof IMAGE> {}

export interface StoredImageData extends StoredImage {
  data: Uint8Array
}

/** A file derived from an image. The caller chooses the name of its size. */
export interface StoredImageFile {
  size: string
  data: Uint8Array
}

interface PublicRow extends RowOf<typeof IMAGE> {
  workspace_id: string
  data: Uint8Array
}

export class Images extends Repository {
  /** Returns false if an image with the same bytes exists. */
  async insert(workspaceId: string, image: StoredImageData, at: Date): Promise<boolean> {
    const row = { ...IMAGE.write(image), workspace_id: workspaceId, data: image.data, created_at: at.getTime() }
    return insertNew(this.db, 'images', row, ['id'])
  }

  async find(workspaceId: string, id: string): Promise<StoredImage | undefined> {
    return findRecord(this.db('images').where({ workspace_id: workspaceId, id }).select(IMAGE.columns), IMAGE.read)
  }

  async list(workspaceId: string, ids: string[]): Promise<StoredImage[]> {
    const images = this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids)
    return listRecords(images.select(IMAGE.columns), IMAGE.read)
  }

  /** Inserts derived files of an image. Skips existing files, because two servers can derive the same file. */
  async insertFiles(workspaceId: string, imageId: string, files: StoredImageFile[]): Promise<void> {
    const rows = files.map(({ size, data }) => ({ image_id: imageId, workspace_id: workspaceId, size, data }))
    if (rows.length > 0) await this.db('image_files').insert(rows).onConflict(['image_id', 'size']).ignore()
  }

  /** Returns the existing files of an image in the given sizes. Reads across workspaces, like `findPublic`. */
  async listFiles(imageId: string, sizes: string[]): Promise<StoredImageFile[]> {
    return this.db('image_files').where({ image_id: imageId }).whereIn('size', sizes).select('size', 'data')
  }

  /** Returns the derived file of each image in one size, by image ID. Omits images without such a file. */
  async listFileOfEach(workspaceId: string, imageIds: string[], size: string): Promise<Map<string, Uint8Array>> {
    const rows: { image_id: string; data: Uint8Array }[] = await this.db('image_files')
      .where({ workspace_id: workspaceId, size })
      .whereIn('image_id', imageIds)
      .select('image_id', 'data')
    return new Map(rows.map(({ image_id, data }) => [image_id, data]))
  }

  async listKnown(workspaceId: string, ids: string[]): Promise<Set<string>> {
    return new Set<string>(await this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).pluck('id'))
  }

  async isPublic(id: string): Promise<boolean> {
    return (await this.db('images').where({ id }).first('id')) !== undefined
  }

  /** Like `listKnown`, and prevents deletion of the images until the transaction ends. */
  async lockKnown(workspaceId: string, ids: string[]): Promise<Set<string>> {
    const ours = this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).orderBy('id').select('id')
    const rows: { id: string }[] = await ours.forShare()
    return new Set(rows.map(({ id }) => id))
  }

  /** The caller must have locked the images. */
  async insertUses(workspaceId: string, uses: { passId: string; imageId: string }[]): Promise<void> {
    const rows = uses.map(({ passId, imageId }) => ({ workspace_id: workspaceId, image_id: imageId, pass_id: passId }))
    await insertRows(this.db, 'pass_images', rows, 'on conflict do nothing')
  }

  /**
   * Removes the links from a pass to its images, including previous images. Deletes those of the images that no other
   * pass and no definition uses. The caller must have locked the pass.
   * @param kept the images that stay with the pass
   */
  async deleteOfPass(workspaceId: string, passId: string, kept: readonly string[] = []): Promise<void> {
    const ids: string[] = await this.ofPass(workspaceId, passId).whereNotIn('image_id', kept).pluck('image_id')
    if (ids.length === 0) return
    const ours = this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids)
    // Lock the images, to wait for transactions that give an image to another pass. Otherwise, the query below would
    // miss the new use of the image, and the image would be deleted.
    await ours.clone().orderBy('id').select('id').forUpdate()
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

  /** Returns the definitions, including drafts, that contain at least one of the IDs. */
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

  /** Returns an image across workspaces: images are public, and the ID is a digest that cannot be guessed. */
  async findPublic(id: string): Promise<(StoredImageData & { workspaceId: string }) | undefined> {
    return findRecord(this.db('images').where({ id }), (row: PublicRow) => ({
      ...IMAGE.read(row),
      workspaceId: row.workspace_id,
      data: row.data,
    }))
  }
}
