import type { Knex } from 'knex'

/** Phones that scan at a gate of a project, and the invitations that make them doors. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('door_invitations', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('project_id').notNullable().references('projects.id').index()
    table.text('gate').notNullable()
    table.text('code_digest').notNullable().unique()
    table.integer('uses_left').notNullable()
    table.bigInteger('expires_at').notNullable().index()
  })
  // A door is its token, which has its name, and says when it was made, ends or was revoked.
  await db.schema.createTable('doors', (table) => {
    table.uuid('id').primary().references('tokens.id')
    table.uuid('workspace_id').notNullable()
    // Of a project that was deleted, it still says which.
    table.uuid('project_id').notNullable().index()
    table.text('gate').notNullable()
    table.bigInteger('last_seen_at').notNullable().index()
    table.text('version')
    table.integer('pending_scans')
    table.index(['workspace_id', 'id'])
  })
  await db.raw('create index doors_pending on doors (pending_scans) where pending_scans > 0')
}
