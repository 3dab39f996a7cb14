import type { Knex } from 'knex'
import { isPostgres } from '../db/dialect.ts'

/** Passes that another provider issued: names that it gave are unique with an identity, and no longer on the whole server. */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('passes', (table) => {
    // What scanners read; null is what the template says.
    table.text('scan_payload')
    // SHA-256 of the row that it was imported as, in hexadecimal; null where it was made here, or erased.
    table.text('import_digest')
  })
  // Erased ones give their number back when their phones had the time to fetch what is left.
  await db.raw(`create index passes_erased_imported on passes (erased_at)
    where erased_at is not null and imported_serial_number is not null`)

  await db.schema.alterTable('former_passes', (table) => {
    // Null is what the copy was called here.
    table.text('imported_serial_number')
  })
  await db.raw(`create index former_passes_by_imported on former_passes (imported_serial_number)
    where imported_serial_number is not null`)

  // Two providers may have given objects of two issuers the same name.
  await db.raw('drop index google_objects_by_suffix')
  await db.raw('create index google_objects_by_suffix on google_objects (object_suffix)')
  await (isPostgres(db) ? setKey(db) : remake(db))
}

const KEY = ['object_suffix', 'pass_id']

async function setKey(db: Knex): Promise<void> {
  await db.raw(`alter table google_former_objects drop constraint google_former_objects_pkey`)
  await db.raw(`alter table google_former_objects add primary key (${KEY.join(', ')})`)
}

/** SQLite keeps the key of a table for as long as the table. */
async function remake(db: Knex): Promise<void> {
  await db.schema.renameTable('google_former_objects', 'google_former_objects_before')
  await db.raw('drop index if exists google_former_objects_pass_id_index')
  await db.schema.createTable('google_former_objects', (table) => {
    table.text('object_suffix').notNullable()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.text('kind').notNullable()
    table.uuid('template_version_id').notNullable()
    table.integer('holders').notNullable()
    table.boolean('is_transferred').notNullable().defaultTo(false)
    table.bigInteger('expired_at')
    table.primary(KEY)
  })
  const columns = [...KEY, 'workspace_id', 'kind', 'template_version_id', 'holders', 'is_transferred', 'expired_at']
  const names = columns.join(', ')
  await db.raw(`insert into google_former_objects (${names}) select ${names} from google_former_objects_before`)
  await db.schema.dropTable('google_former_objects_before')
}
