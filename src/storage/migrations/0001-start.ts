import type { Knex } from 'knex'
import { isPostgres, NEVER } from '../db/dialect.ts'

/** Moments are milliseconds since 1970, so that SQL never asks the database for the time. */

export async function up(db: Knex): Promise<void> {
  const postgres = isPostgres(db)
  /** Text that sorts by code point on both databases. */
  const sorted = postgres ? 'text collate "C"' : 'text'
  const blob = postgres ? 'bytea' : 'blob'

  await db.schema.createTable('settings', (table) => {
    table.text('name').primary()
    table.text('value').notNullable()
  })

  await db.schema.createTable('workspaces', (table) => {
    table.uuid('id').primary()
    table.specificType('name', sorted).notNullable().unique()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('suspended_at')
    table.bigInteger('expires_at')
  })

  await db.schema.createTable('tokens', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('name').notNullable()
    table.text('digest').notNullable().unique()
    table.text('role').notNullable()
    table.text('scopes').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('expires_at')
    table.bigInteger('last_used_at')
    table.bigInteger('revoked_at')
    table.index(['workspace_id', 'created_at', 'id'])
  })

  await db.schema.createTable('projects', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.specificType('name', sorted).notNullable()
    table.text('description').notNullable()
    table.text('color').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    for (const column of ['created_at', 'updated_at', 'name']) table.index(['workspace_id', column, 'id'])
  })

  await db.schema.createTable('templates', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.uuid('project_id').references('projects.id')
    table.specificType('name', sorted).notNullable()
    table.text('description').notNullable()
    table.text('pass_type').notNullable()
    table.integer('latest_version').notNullable()
    table.uuid('published_version_id')
    table.integer('published_version')
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.bigInteger('deleted_at')
    for (const column of ['created_at', 'updated_at', 'name']) table.index(['workspace_id', column, 'id'])
    table.index(['project_id'])
  })

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

  await db.schema.createTable('images', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.text('content_type').notNullable()
    table.integer('width').notNullable()
    table.integer('height').notNullable()
    table.integer('bytes').notNullable()
    table.specificType('data', blob).notNullable()
    table.bigInteger('created_at').notNullable()
  })

  await db.schema.createTable('passes', (table) => {
    if (postgres) table.uuid('id').primary()
    else {
      // The search index refers to rows by this number.
      table.increments('row_number')
      table.uuid('id').notNullable().unique()
    }
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.specificType('external_pass_id', sorted).notNullable()
    table.specificType('label', sorted).notNullable()
    table.text('status').notNullable()
    table.integer('version').notNullable()
    // Filters compare these with whatever whole number is asked for, and PostgreSQL refuses one that a column cannot hold.
    table.bigInteger('revision').notNullable()
    table.integer('wallet_version').notNullable()
    table.uuid('template_id').notNullable().references('templates.id')
    table.uuid('template_version_id').notNullable().references('template_versions.id')
    table.bigInteger('template_version').notNullable()
    // No foreign key: deleting a project leaves up to millions of passes behind, which a job detaches in chunks.
    table.uuid('project_id')
    table.text('variables').notNullable()
    table.text('redemption')
    table.bigInteger('expires_at')
    // A column rather than an expression: SQLite cannot go on after a row by an index of expressions.
    table.specificType('expiry_key', `bigint generated always as (coalesce(expires_at, ${NEVER})) stored`)
    table.text('scan_code').notNullable()
    table.text('apple_token').notNullable()
    table.integer('link_generation').notNullable()
    table.text('error')
    // Case folded by the application, for substring filters.
    table.text('label_folded').notNullable()
    table.text('external_folded').notNullable()
    table.boolean('has_windows').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.bigInteger('issued_at')
    table.bigInteger('voided_at')
    table.unique(['workspace_id', 'external_pass_id'])
    // Ids ascend with the time of creation, so that these are also the orders of createdAt.
    table.index(['workspace_id', 'id'])
    for (const filter of ['status', 'template_id', 'project_id']) table.index(['workspace_id', filter, 'id'])
    for (const filter of ['template_version', 'revision']) table.index(['workspace_id', filter, 'id'])
    for (const sort of ['updated_at', 'label', 'expiry_key']) table.index(['workspace_id', sort, 'id'])
    table.index(['project_id', 'status', 'created_at'])
  })
  await db.raw("create index passes_expiring on passes (expires_at) where status = 'ISSUED' and expires_at is not null")
  await createSearchIndex(db)

  // What scanners read, by SHA-256; a pass has one active identifier and any number of stale ones.
  await db.schema.createTable('pass_identifiers', (table) => {
    table.uuid('workspace_id').notNullable()
    table.specificType('digest', blob).notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.boolean('active').notNullable()
    table.primary(['workspace_id', 'digest', 'pass_id'])
  })

  // One row for each variable of a pass; ids ascend with time, so one key lists a value's passes newest first.
  await db.schema.createTable('pass_variables', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('name').notNullable()
    table.text('value').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['workspace_id', 'name', 'value', 'pass_id'])
  })

  // One row for each date (YYYY-MM-DD) that a fixed window of a pass starts on, in the window's own offset.
  await db.schema.createTable('pass_windows', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('start_date').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['workspace_id', 'start_date', 'pass_id'])
  })

  // Accepted scans that were not reversed; every scan stands in a ledger of its own.
  await db.schema.createTable('accepted_scans', (table) => {
    table.uuid('scan_id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id')
    table.text('scan_context_key').notNullable()
    table.bigInteger('scanned_at').notNullable()
    table.index(['pass_id', 'scan_context_key', 'scanned_at'])
  })

  await db.schema.createTable('jobs', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.text('kind').notNullable()
    table.uuid('subject').notNullable()
    table.text('correlation_id')
    table.smallint('priority').notNullable()
    table.bigInteger('run_at').notNullable()
    table.integer('attempts').notNullable()
    table.uuid('claim_token')
    table.text('last_error')
    table.bigInteger('failed_at')
    table.bigInteger('created_at').notNullable()
  })
  await db.raw('create index jobs_due on jobs (priority, run_at) where claim_token is null and failed_at is null')
  await db.raw('create index jobs_claimed on jobs (run_at) where claim_token is not null')

  await db.schema.createTable('events', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.text('type').notNullable()
    table.uuid('subject').notNullable()
    table.text('data').notNullable()
    table.text('correlation_id')
    table.bigInteger('created_at').notNullable()
    table.index(['workspace_id', 'subject'])
  })
}

/** Substrings of label and externalPassId, answered from an index of trigrams. */
async function createSearchIndex(db: Knex): Promise<void> {
  if (isPostgres(db)) {
    await db.raw('create extension if not exists pg_trgm')
    await db.raw(
      'create index passes_search on passes using gin (label_folded gin_trgm_ops, external_folded gin_trgm_ops)',
    )
    return
  }
  await db.raw(`create virtual table pass_search using fts5(
    label_folded, external_folded, content='passes', content_rowid='row_number', tokenize='trigram case_sensitive 1')`)
  const remove = `insert into pass_search (pass_search, rowid, label_folded, external_folded)
    values ('delete', old.row_number, old.label_folded, old.external_folded)`
  const add = `insert into pass_search (rowid, label_folded, external_folded)
    values (new.row_number, new.label_folded, new.external_folded)`
  await db.raw(`create trigger passes_search_insert after insert on passes begin ${add}; end`)
  await db.raw(`create trigger passes_search_delete after delete on passes begin ${remove}; end`)
  await db.raw(`create trigger passes_search_update after update of label_folded on passes
    when old.label_folded <> new.label_folded begin ${remove}; ${add}; end`)
}
