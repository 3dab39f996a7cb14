import type { Knex } from 'knex'

/** What a pass type was shown as where the definition did not say, when this was written. */
const kinds = {
  generic: 'generic',
  eventTicket: 'eventTicket',
  storeCard: 'loyalty',
  coupon: 'offer',
  boardingPass: 'transit',
}

/**
 * What each object at Google is called, and the class that it stands in: versions have classes of their own from now on,
 * and passes of a version that share a key one of theirs.
 */
export async function up(db: Knex): Promise<void> {
  await db.schema.alterTable('google_objects', (table) => {
    // Ids without the issuer. Null is the id of the pass, as every object was called.
    table.text('object_suffix')
    // Null where a program of before wrote the row.
    table.text('kind')
    table.text('class_suffix')
    table.uuid('template_version_id')
  })
  await db.raw('create unique index google_objects_by_suffix on google_objects (object_suffix)')
  // Objects of another kind than the pass now has: expired, and still on phones.
  await db.schema.createTable('google_former_objects', (table) => {
    table.text('object_suffix').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('pass_id').notNullable().references('passes.id').index()
    table.text('kind').notNullable()
    table.uuid('template_version_id').notNullable()
    table.integer('holders').notNullable()
  })
  await db.schema.createTable('google_classes', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('template_version_id').notNullable()
    // Of the text that the passes of the class have in common.
    table.text('key_digest').notNullable()
    // What stands in the class for placeholders.
    table.text('class_values').notNullable()
    table.integer('version').notNullable()
    // Null while Google was sent none.
    table.integer('sent_version')
    table.unique(['template_version_id', 'key_digest'])
  })
  await db.schema.alterTable('passes', (table) => {
    table.uuid('google_class_id')
  })
  await db.raw('create index passes_by_google_class on passes (google_class_id) where google_class_id is not null')
  await describeObjects(db)
}

/** Objects of before stand in the one class that all versions of their template and kind shared. */
async function describeObjects(db: Knex): Promise<void> {
  const versions: { id: string; template_id: string; pass_type: keyof typeof kinds; definition: string }[] = await db(
    'template_versions',
  )
    .join('templates', 'templates.id', 'template_versions.template_id')
    .where({ stage: 'published' })
    .select('template_versions.id', 'template_id', 'pass_type', 'definition')
  for (const { id, template_id, pass_type, definition } of versions) {
    const kind = JSON.parse(definition).google?.kind ?? kinds[pass_type]
    const passes = db('passes').where({ template_version_id: id }).select('id')
    await db('google_objects')
      .whereIn('pass_id', passes)
      .update({ kind, class_suffix: `template-${template_id}-${kind}`, template_version_id: id })
  }
}
