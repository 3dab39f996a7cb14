import type { Knex } from 'knex'

export async function createJoinPages(db: Knex): Promise<void> {
  await db.schema.createTable('join_pages', (table) => {
    table.uuid('template_id').primary().references('templates.id')
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // The slug is unique on the server, because the address of a page does not contain the workspace.
    table.text('slug').notNullable().unique()
    table.text('settings').notNullable()
    table.boolean('open').notNullable()
    table.bigInteger('closes_at')
    table.integer('pass_limit')
    // The number of passes that the page created, including submissions that a job still processes.
    table.integer('joined').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'template_id'])
  })

  // Submissions of pages with `identity`, kept until their job creates the pass or finds the existing one.
  await db.schema.createTable('join_submissions', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('template_id').notNullable()
    table.text('external_pass_id').notNullable()
    table.text('content').notNullable()
    // Whether the submission is counted in `joined` of its page.
    table.boolean('holds_place').notNullable()
    table.bigInteger('created_at').notNullable()
    table.unique(['workspace_id', 'external_pass_id'])
  })

  // One row per email address. `digest` is the SHA-256 of the address in lower case.
  await db.schema.createTable('join_identities', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('template_id').notNullable()
    table.text('digest').notNullable()
    // No foreign key: the address is reserved before its pass is inserted.
    table.uuid('pass_id').notNullable().unique()
    // The pass variable with the address, and the visitor's language, for the email with the link to the pass.
    table.text('variable').notNullable()
    table.text('language').notNullable()
    table.bigInteger('mailed_at')
    table.primary(['workspace_id', 'template_id', 'digest'])
  })
}
