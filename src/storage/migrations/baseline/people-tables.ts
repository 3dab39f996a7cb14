import type { Knex } from 'knex'

export async function createPeople(db: Knex): Promise<void> {
  await db.schema.createTable('people', (table) => {
    table.uuid('id').primary()
    table.text('issuer').notNullable()
    table.text('subject').notNullable()
    // The address, normalized for comparison as in `members`.
    table.text('email').notNullable().index()
    // The roles that the provider claimed at the last sign-in, as a JSON list.
    table.text('claimed_roles').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('signed_in_at').notNullable()
    table.unique(['issuer', 'subject'])
  })

  await db.schema.createTable('members', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('email').notNullable()
    table.text('role').notNullable()
    // The IDs of the member's projects as a JSON list; null for the whole workspace.
    table.text('project_ids')
    table.bigInteger('created_at').notNullable()
    table.unique(['workspace_id', 'email', 'role'])
    table.index(['email'])
  })

  await db.schema.createTable('sessions', (table) => {
    table.uuid('id').primary()
    table.text('digest').notNullable().unique()
    table.uuid('workspace_id').notNullable().references('workspaces.id').index()
    table.uuid('person_id').notNullable().references('people.id').index()
    // The ID of the session at the provider, by which a back-channel logout can end the session.
    table.text('provider_session')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('last_used_at').notNullable()
    table.bigInteger('expires_at').notNullable().index()
  })
  // The provider's logout tokens that were used, so that each token works only once.
  await db.schema.createTable('logout_tokens', (table) => {
    table.text('digest').primary()
    table.bigInteger('used_at').notNullable().index()
  })
}
