import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Stands for the identity `server` where an index needs a value. */
const SERVER = '00000000-0000-0000-0000-000000000000'

/** Who signs and pushes beside what the flags of the server give, and which pass belongs to whom. */
export async function up(db: Knex): Promise<void> {
  await db.schema.createTable('identities', (table) => {
    table.uuid('id').primary()
    table.text('platform').notNullable()
    table.text('name').notNullable().unique()
    table.text('status').notNullable()
    table.boolean('is_sandbox').notNullable()
    table.text('pass_type_identifier')
    table.text('team_identifier')
    table.text('issuer_id')
    // Of its certificate; null where nothing ends.
    table.bigInteger('expires_at')
    // Certificates and keys, under the server key; null where the machine has an account of its own.
    table.text('sealed')
    // Grows with each change: servers take what is new.
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
    table.primary(['workspace_id', 'identity_id'])
  })

  // Null is the default: of a project that of its workspace, of a workspace the identity of the server.
  const id = isPostgres(db) ? 'uuid' : 'char(36)'
  for (const table of ['workspaces', 'projects', 'passes']) {
    for (const platform of ['apple', 'google'])
      await db.raw(`alter table ${table} add column ${platform}_identity_id ${id}`)
  }

  // Of passes that another provider issued: null is what the service calls them itself.
  for (const column of ['imported_serial_number', 'google_object_id'])
    await db.raw(`alter table passes add column ${column} text`)
  for (const [platform, column] of [
    ['apple', 'imported_serial_number'],
    ['google', 'google_object_id'],
  ]) {
    const identity = `coalesce(${platform}_identity_id, '${SERVER}')`
    await db.raw(
      `create unique index passes_by_${column} on passes (${column}, (${identity})) where ${column} is not null`,
    )
  }
}
