import type { Knex } from 'knex'
import { addIdentities, addSortedPrefix, columnTypes } from './columns.ts'

export async function createTemplates(db: Knex): Promise<void> {
  const { sortedText, bytes, position } = columnTypes(db)

  await db.schema.createTable('projects', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.specificType('name', sortedText).notNullable()
    table.text('description').notNullable()
    table.text('color').notNullable()
    addIdentities(table)
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    for (const column of ['created_at', 'updated_at']) table.index(['workspace_id', column, 'id'])
  })
  await addSortedPrefix(db, 'projects', 'name')

  await db.schema.createTable('templates', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('project_id').references('projects.id')
    // The key of the template in files and commands. A deleted template releases it.
    table.text('key')
    table.specificType('name', sortedText).notNullable()
    // The position of the last rename in the order of changes. Door snapshots contain the name, so a rename after the
    // start of a snapshot must be found.
    table.specificType('name_position', position)
    table.text('description').notNullable()
    table.text('pass_type').notNullable()
    table.integer('latest_version').notNullable()
    table.uuid('published_version_id')
    table.integer('published_version')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.bigInteger('deleted_at')
    for (const column of ['created_at', 'updated_at']) table.index(['workspace_id', column, 'id'])
    table.index(['project_id'])
  })
  await addSortedPrefix(db, 'templates', 'name')
  await db.raw('create unique index templates_by_key on templates (workspace_id, "key") where deleted_at is null')
  await db.raw(`create index templates_by_name_change on templates (workspace_id, name_position)
    where name_position is not null`)

  await db.schema.createTable('template_versions', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('template_id').notNullable().references('templates.id')
    table.integer('version').notNullable()
    table.text('stage').notNullable()
    table.text('definition').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('published_at')
    table.bigInteger('updated_at').notNullable()
    table.unique(['template_id', 'version'])
  })
  await db.raw(
    `create index template_versions_drafts on template_versions (workspace_id, template_id) where stage = 'draft'`,
  )

  await createUpgrades(db)

  await db.schema.createTable('images', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('content_type').notNullable()
    table.integer('width').notNullable()
    table.integer('height').notNullable()
    table.integer('bytes').notNullable()
    table.specificType('data', bytes).notNullable()
    table.bigInteger('created_at').notNullable()
  })
  // Files derived from an image, such as for Apple's packages. Each file is created when the image is uploaded, or when
  // the file is first used.
  await db.schema.createTable('image_files', (table) => {
    table.uuid('image_id').notNullable().references('images.id').onDelete('CASCADE')
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('size').notNullable()
    table.specificType('data', bytes).notNullable()
    table.primary(['image_id', 'size'])
  })
}

async function createUpgrades(db: Knex): Promise<void> {
  await db.schema.createTable('template_upgrades', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('template_id').notNullable().references('templates.id')
    table.uuid('template_version_id').notNullable()
    table.integer('version').notNullable()
    table.text('filter')
    table.integer('pass_limit')
    table.boolean('dry_run').notNullable()
    table.text('status').notNullable()
    // The projects of the token that created the upgrade, as JSON; null for the whole workspace.
    table.text('project_ids')
    // The token or person that created the upgrade.
    table.uuid('token_id').notNullable()
    table.text('token_name').notNullable()
    table.text('token_subject')
    // The ID of the last pass that was processed.
    table.uuid('position')
    // The number of passes that the upgrade selects; null until they are counted.
    table.integer('matched')
    table.integer('upgraded').notNullable()
    table.integer('unchanged').notNullable()
    table.integer('failed').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.index(['workspace_id', 'template_id', 'id'])
  })
  await db.raw(`create index template_upgrades_pending on template_upgrades (workspace_id) where status = 'PENDING'`)
  await db.raw(`create unique index template_upgrades_running on template_upgrades (template_id)
    where status = 'PENDING' and not dry_run`)

  await db.schema.createTable('template_upgrade_failures', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('upgrade_id').notNullable().references('template_upgrades.id').onDelete('CASCADE')
    table.uuid('pass_id').notNullable().index()
    table.text('code').notNullable()
    table.text('message').notNullable()
    table.primary(['upgrade_id', 'pass_id'])
  })
}
