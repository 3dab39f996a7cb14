import type { Knex } from 'knex'

/** The images that the variables of a pass bring, or once brought: while a row stands, nobody deletes the image. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('pass_images', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('image_id').notNullable().references('images.id')
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['image_id', 'pass_id'])
  })
}
