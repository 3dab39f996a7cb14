import type { Knex } from 'knex'
import { inDialect, NEVER } from '../../db/dialect.ts'
import { addIdentities, addSortedPrefix, columnTypes } from './columns.ts'

/**
 * The value that stands for the server's identity in unique indexes, because these indexes treat nulls as different
 * values.
 */
const SERVER_IDENTITY = '00000000-0000-0000-0000-000000000000'

/** The stored statuses of passes that can be added to a wallet. */
const IS_INSTALLABLE = `status in ('QUEUED', 'ISSUING', 'ISSUED')`

export async function createPasses(db: Knex): Promise<void> {
  const { sortedText, position, nextPosition } = columnTypes(db)

  await db.schema.createTable('passes', (table) => {
    inDialect(db, {
      postgres: () => void table.uuid('id').primary(),
      sqlite() {
        // The search index refers to rows by this number.
        table.increments('row_number')
        table.uuid('id').notNullable().unique()
      },
    })
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    table.specificType('external_pass_id', sortedText).notNullable()
    table.specificType('label', sortedText).notNullable()
    table.text('status').notNullable()
    table.integer('version').notNullable()
    // Use bigint, because a filter can compare the revision with any safe integer.
    table.bigInteger('revision').notNullable()
    table.uuid('template_id').notNullable().references('templates.id')
    table.uuid('template_version_id').notNullable().references('template_versions.id')
    table.bigInteger('template_version').notNullable()
    // No foreign key, because a job detaches the passes of a deleted project later, in chunks.
    table.uuid('project_id')
    table.text('variables').notNullable()
    table.text('redemption')
    table.boolean('has_windows').notNullable()
    // Whether the version of the template defines balances.
    table.boolean('has_balances').notNullable().defaultTo(false)
    // For each balance, the sum and number of its entries, and the time of the last one; null before the first entry.
    table.text('balance_sums')
    table.text('error')
    // The case-folded label and external ID, for substring filters.
    table.text('label_folded').notNullable()
    table.text('external_folded').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    table.bigInteger('erased_at')

    table.bigInteger('expires_at')
    // Sort by this column instead of an expression, because SQLite can seek to the start of a page only in an index of
    // columns.
    table.specificType('expiry_key', `bigint generated always as (coalesce(expires_at, ${NEVER})) stored`)
    // The last date on which the pass can be scanned; null if it never expires.
    table.specificType('expiry_date', sortedText)
    table.bigInteger('issued_at')
    table.bigInteger('voided_at')
    // The time at which the pass stopped or will stop being ISSUED.
    table.bigInteger('issued_until')
    // The last period in which the pass was expired. It ended when an update moved the expiry.
    table.bigInteger('lapsed_from')
    table.bigInteger('lapsed_until')

    table.integer('wallet_version').notNullable()
    // Last-Modified, in milliseconds, rounded to a whole second. Every visible change raises it by at least a second.
    table.bigInteger('modified_at').notNullable()
    table.text('scan_code').notNullable()
    table.text('apple_token').notNullable()
    table.integer('link_generation').notNullable()
    // The serial number; null if it is the ID of the pass.
    table.uuid('serial_number')
    table.uuid('google_class_id')
    // The notification in the back field of the pass, and the number of notifications that the field has shown.
    table.uuid('message_id')
    table.integer('message_count').notNullable().defaultTo(0)

    table.uuid('group_id')
    table.specificType('group_key', sortedText)

    addIdentities(table)
    // The identifiers and the scan code from another provider; null if this service chose them.
    table.text('imported_serial_number')
    table.text('google_object_id')
    table.text('scan_payload')
    // The SHA-256 of the imported row, in hexadecimal.
    table.text('import_digest')

    // The join page that created the pass, the source of the visit, and the consent; null for other passes.
    table.text('join_slug')
    table.text('join_source')
    table.text('consent_version')
    table.bigInteger('consented_at')
    // The first time at which a wallet held the pass, if a join page created it.
    table.bigInteger('join_installed_at')

    // The position of the last change of a value that door snapshots contain.
    table.specificType('change_position', `${position} default ${nextPosition}`)

    table.unique(['workspace_id', 'external_pass_id'])
    // IDs ascend with the time of creation, so these indexes also sort by createdAt.
    table.index(['workspace_id', 'id'])
    for (const filter of ['status', 'template_id', 'project_id']) table.index(['workspace_id', filter, 'id'])
    for (const filter of ['template_version', 'revision']) table.index(['workspace_id', filter, 'id'])
    for (const sort of ['updated_at', 'expiry_key']) table.index(['workspace_id', sort, 'id'])
  })
  await addSortedPrefix(db, 'passes', 'label')
  await addSortedPrefix(db, 'passes', 'group_key', 'group_key is not null')
  await createPassIndexes(db)
  await createSearchIndex(db)
  await createPassRows(db)
  await createFormerHolders(db)
}

async function createPassIndexes(db: Knex): Promise<void> {
  const create = (name: string, columns: string, where: string, unique = '') =>
    db.raw(`create ${unique} index ${name} on passes (${columns}) where ${where}`)
  await create('passes_expiring', 'expires_at', "status = 'ISSUED' and expires_at is not null")
  await create('passes_erased', 'erased_at', 'erased_at is not null')
  // This index finds erased passes that keep their imported serial number until phones had time to download them.
  await create('passes_erased_imported', 'erased_at', 'erased_at is not null and imported_serial_number is not null')
  await create('passes_by_google_class', 'google_class_id', 'google_class_id is not null')
  await create('passes_of_join_page', 'workspace_id, join_slug, id', 'join_slug is not null')
  await create('passes_of_join_source', 'workspace_id, join_source, id', 'join_source is not null')
  await create('passes_of_group', 'group_id, id', 'group_id is not null')
  // The page of a group is public, so its query must be cheap: the index for the page omits void and expired passes.
  await create('passes_installable_of_group', 'group_id, id', `group_id is not null and ${IS_INSTALLABLE}`)
  await create('passes_by_change', 'workspace_id, change_position, id', 'change_position is not null')
  await create('passes_erased_by_change', 'workspace_id, change_position', 'erased_at is not null')
  await create('passes_by_serial_number', 'serial_number', 'serial_number is not null', 'unique')
  for (const [platform, column] of [
    ['apple', 'imported_serial_number'],
    ['google', 'google_object_id'],
  ]) {
    const identity = `coalesce(${platform}_identity_id, '${SERVER_IDENTITY}')`
    await create(`passes_by_${column}`, `${column}, (${identity})`, `${column} is not null`, 'unique')
  }
}

/** Creates the trigram index for substring filters on label and externalPassId. */
const createSearchIndex = (db: Knex) => inDialect(db, { postgres: createTrigrams, sqlite: createTextIndex })

async function createTrigrams(db: Knex): Promise<void> {
  await db.raw('create extension if not exists pg_trgm')
  await db.raw(
    'create index passes_search on passes using gin (label_folded gin_trgm_ops, external_folded gin_trgm_ops)',
  )
}

async function createTextIndex(db: Knex): Promise<void> {
  await db.raw(`create virtual table pass_search using fts5(
    label_folded, external_folded, content='passes', content_rowid='row_number', tokenize='trigram case_sensitive 1')`)
  const remove = `insert into pass_search (pass_search, rowid, label_folded, external_folded)
    values ('delete', old.row_number, old.label_folded, old.external_folded)`
  const add = `insert into pass_search (rowid, label_folded, external_folded)
    values (new.row_number, new.label_folded, new.external_folded)`
  await db.raw(`create trigger passes_search_insert after insert on passes begin ${add}; end`)
  await db.raw(`create trigger passes_search_delete after delete on passes begin ${remove}; end`)
  await db.raw(`create trigger passes_search_update after update of label_folded, external_folded on passes
    when old.label_folded <> new.label_folded or old.external_folded <> new.external_folded
    begin ${remove}; ${add}; end`)
}

async function createPassRows(db: Knex): Promise<void> {
  const { bytes } = columnTypes(db)
  // The SHA-256 digests of scannable codes: one active identifier and up to 100 stale ones per pass.
  await db.schema.createTable('pass_identifiers', (table) => {
    table.uuid('workspace_id').notNullable()
    table.specificType('digest', bytes).notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.boolean('active').notNullable()
    table.primary(['workspace_id', 'digest', 'pass_id'])
  })
  // One row per variable. Pass IDs ascend with time, so the primary key can list passes with a value newest first.
  await db.schema.createTable('pass_variables', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('name').notNullable()
    table.text('value').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['workspace_id', 'name', 'value', 'pass_id'])
  })
  // One row per start date (YYYY-MM-DD) of a fixed window, in the UTC offset of the window.
  await db.schema.createTable('pass_windows', (table) => {
    table.uuid('workspace_id').notNullable()
    table.text('start_date').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['workspace_id', 'start_date', 'pass_id'])
  })
  // The images that variables of a pass contain now or contained earlier. An image with a row is not deleted.
  await db.schema.createTable('pass_images', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('image_id').notNullable().references('images.id')
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.primary(['image_id', 'pass_id'])
  })
  // Groups whose links were revoked, with their link generation. A group without a row is at generation 0.
  await db.schema.createTable('group_links', (table) => {
    table.uuid('group_id').primary()
    table.uuid('workspace_id').notNullable()
    table.bigInteger('generation').notNullable()
  })
}

async function createFormerHolders(db: Knex): Promise<void> {
  await db.schema.createTable('former_passes', (table) => {
    table.uuid('serial_number').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.uuid('template_version_id').notNullable()
    table.text('apple_token').notNullable()
    // The update tag; 0 until the first push to the former holder's phones.
    table.bigInteger('update_tag').notNullable()
    table.bigInteger('modified_at').notNullable()
    table.bigInteger('ended_at').notNullable().index()
    // The serial number in the wallets; null if it is `serial_number`.
    table.text('imported_serial_number')
  })
  await db.raw(`create index former_passes_by_imported on former_passes (imported_serial_number)
    where imported_serial_number is not null`)
  await db.schema.createTable('former_registrations', (table) => {
    table.uuid('workspace_id').notNullable()
    table.uuid('serial_number').notNullable().references('former_passes.serial_number').onDelete('CASCADE')
    table.text('device_id').notNullable()
    table.text('push_token').notNullable().index()
    table.boolean('is_pushed').notNullable()
    table.primary(['device_id', 'serial_number'])
    table.index(['serial_number'])
  })
}

const TABLE = 10_000_000
const WORKSPACE = 1_000_000

/**
 * The statistics of indexes in the format of SQLite: the number of rows, and for each column of an index, the average
 * number of rows with the same values in this column and all columns before it.
 */
const statistics: Record<string, Record<string, string>> = {
  passes: {
    passes_workspace_id_id_index: `${TABLE} ${WORKSPACE} 1`,
    passes_workspace_id_external_pass_id_unique: `${TABLE} ${WORKSPACE} 1`,
    passes_workspace_id_updated_at_id_index: `${TABLE} ${WORKSPACE} 1 1`,
    passes_workspace_id_status_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_template_id_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_project_id_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_template_version_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_revision_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_workspace_id_expiry_key_id_index: `${TABLE} ${WORKSPACE} ${WORKSPACE} 1`,
    passes_by_label: `${TABLE} ${WORKSPACE} 1 1`,
    passes_by_group_key: `${WORKSPACE} 100000 5 1`,
    passes_of_group: `${WORKSPACE} 5 1`,
    passes_installable_of_group: `${WORKSPACE} 4 1`,
    passes_by_change: `${TABLE} ${WORKSPACE} 1 1`,
    passes_erased_by_change: '10000 1000 1',
  },
  held_passes: {
    sqlite_autoindex_held_passes_1: `${TABLE} ${WORKSPACE} 1`,
    held_passes_at_apple: '5000000 500000 1',
    held_passes_at_google: '5000000 500000 1',
  },
}

/**
 * Gives SQLite statistics for ten workspaces with a million passes each. Without statistics, SQLite plans as if a
 * workspace had ten passes. PostgreSQL collects its own statistics.
 */
export async function setStatistics(db: Knex): Promise<void> {
  await inDialect(db, { sqlite: insertStatistics })
}

async function insertStatistics(db: Knex): Promise<void> {
  // Analyze a small table, because SQLite creates the table of statistics only at the first `analyze`.
  await db.raw('analyze settings')
  await db.raw('delete from sqlite_stat1')
  for (const [tbl, indexes] of Object.entries(statistics)) {
    await db('sqlite_stat1').insert(Object.entries(indexes).map(([idx, stat]) => ({ tbl, idx, stat })))
  }
  await db.raw('analyze sqlite_schema')
}
