import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** The files that passes need of an image, made when it is uploaded; of older ones when a pass first needs them. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('image_files', (table) => {
    table.uuid('image_id').notNullable().references('images.id').onDelete('CASCADE')
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('size').notNullable()
    table.specificType('data', isPostgres(db) ? 'bytea' : 'blob').notNullable()
    table.primary(['image_id', 'size'])
  })
}
