import type { Knex } from 'knex'
import type { Image } from '../core/contract/images.ts'

export interface StoredImage extends Image {
  data: Uint8Array
}

const RECORD = { id: 'id', contentType: 'content_type', width: 'width', height: 'height', bytes: 'bytes' }

export class Images {
  private readonly db: Knex

  constructor(db: Knex) {
    this.db = db
  }

  /** False when the same bytes are there already. */
  async insert(workspaceId: string, image: StoredImage, at: Date): Promise<boolean> {
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

  /** The ids among these that the workspace has. */
  async listKnown(workspaceId: string, ids: string[]): Promise<Set<string>> {
    return new Set<string>(await this.db('images').where({ workspace_id: workspaceId }).whereIn('id', ids).pluck('id'))
  }

  /** The one read without a workspace: images are public, and an id is a digest that nobody can guess. */
  async findPublic(id: string): Promise<StoredImage | undefined> {
    return this.db('images')
      .where({ id })
      .first({ ...RECORD, data: 'data' })
  }
}
