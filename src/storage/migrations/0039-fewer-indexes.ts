import type { Knex } from 'knex'

/**
 * Figures of a project were counted along this index; since they are kept (0030) nobody reads it, and each change of a pass
 * wrote it.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    table.dropIndex(['project_id', 'status', 'created_at'])
  })
}
