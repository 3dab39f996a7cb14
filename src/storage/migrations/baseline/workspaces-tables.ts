import type { Knex } from 'knex'
import { addIdentities, columnTypes } from './columns.ts'

export async function createWorkspaces(db: Knex): Promise<void> {
  const { sortedText } = columnTypes(db)

  await db.schema.createTable('settings', (table) => {
    table.text('name').primary()
    table.text('value').notNullable()
  })

  await db.schema.createTable('workspaces', (table) => {
    table.uuid('id').primary()
    table.specificType('name', sortedText).notNullable().unique()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('suspended_at')
    table.bigInteger('expires_at')
    table.bigInteger('links_closed_at')
    table.boolean('offline_scanning').notNullable().defaultTo(true)
    // A number that increases with each change of webhook subscriptions.
    table.integer('webhook_epoch').notNullable().defaultTo(0)
    addIdentities(table)
  })

  // If a limit is null, the default applies, which can change between releases.
  await db.schema.createTable('workspace_limits', (table) => {
    table.uuid('workspace_id').primary().references('workspaces.id')
    for (const name of ['webhooks', 'passes', 'stored_bytes', 'waiting_jobs']) table.bigInteger(name)
    for (const name of ['drafts_per_template', 'scheduled_sends', 'requests_in_flight']) table.bigInteger(name)
  })

  await db.schema.createTable('tokens', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('name').notNullable()
    table.text('digest').notNullable().unique()
    table.text('role').notNullable()
    table.text('scopes').notNullable()
    // The IDs of the projects as a JSON list; null for the whole workspace.
    table.text('project_ids')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('expires_at')
    table.bigInteger('last_used_at')
    table.bigInteger('revoked_at')
    table.uuid('replaced_by')
    table.index(['workspace_id', 'created_at', 'id'])
  })
  await db.raw(`create index tokens_ending on tokens (expires_at)
    where expires_at is not null and revoked_at is null and replaced_by is null`)

  await createIdentities(db)

  // No foreign keys, because the log outlives the rows that it names.
  await db.schema.createTable('audit_entries', (table) => {
    // IDs ascend with time. Lists and retention rely on their order.
    table.uuid('id').primary()
    // The workspace; null for an entry about the whole database.
    table.uuid('workspace_id')
    // The ID of a token or person; null for an operator.
    table.uuid('token_id')
    // The name of a token or operator, or the email address of a person.
    table.text('actor').notNullable()
    // The subject of a person at the provider; null for a token or operator.
    table.text('actor_subject')
    table.text('action').notNullable()
    // The ID of the target; null if there are several targets or none.
    table.uuid('target_id')
    // The pass whose history contains the entry, if the target is another row, such as a notification of the pass.
    table.uuid('pass_id')
    table.integer('target_count').notNullable()
    table.text('correlation_id')
    table.bigInteger('created_at').notNullable()
    table.boolean('chained').notNullable().defaultTo(false)
    for (const filter of ['workspace_id', 'token_id', 'action']) table.index([filter, 'id'])
  })
  await db.raw('create index audit_entries_by_target on audit_entries (target_id, id) where target_id is not null')
  await db.raw('create index audit_entries_by_pass on audit_entries (pass_id, id) where pass_id is not null')
}

async function createIdentities(db: Knex): Promise<void> {
  await db.schema.createTable('identities', (table) => {
    table.uuid('id').primary()
    table.text('platform').notNullable()
    table.text('name').notNullable().unique()
    table.text('status').notNullable()
    table.boolean('is_sandbox').notNullable()
    table.text('pass_type_identifier')
    table.text('team_identifier')
    table.text('issuer_id')
    // The expiry of the identity's certificate; null if nothing expires.
    table.bigInteger('expires_at')
    // Certificates and keys, encrypted with the server key; null if the identity uses the account of the machine.
    table.text('sealed')
    // A number that increases with each change, so that servers reload the identity.
    table.integer('version').notNullable()
    table.bigInteger('created_at').notNullable().index()
    table.bigInteger('updated_at').notNullable()
  })
  await db.raw(`create unique index identities_by_pass_type on identities (pass_type_identifier)
    where pass_type_identifier is not null`)
  await db.raw('create unique index identities_by_issuer on identities (issuer_id) where issuer_id is not null')

  await db.schema.createTable('workspace_identities', (table) => {
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('identity_id').notNullable().references('identities.id').index()
    // Whether no new passes are issued under the identity. Its existing passes are still maintained.
    table.boolean('is_retired').notNullable().defaultTo(false)
    table.primary(['workspace_id', 'identity_id'])
  })
}
