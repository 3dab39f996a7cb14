import type { Knex } from 'knex'

export async function createZones(db: Knex): Promise<void> {
  await db.schema.createTable('zones', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable().references('workspaces.id')
    // No foreign key, because the zone remains after its project is deleted.
    table.uuid('project_id').notNullable()
    table.text('name').notNullable()
    table.integer('capacity')
    table.text('when_full').notNullable()
    // The passes inside plus the adjustments since the last reset; bigint, because the sum of adjustments has no limit.
    table.bigInteger('inside').notNullable()
    // The highest threshold, in percent, that was reported and is not re-armed yet (see `alertsOf`); 0 if none.
    table.integer('alerted').notNullable()
    // The number of resets, which is also the number of the current segment (see `zone_movements`).
    table.integer('segment').notNullable()
    table.bigInteger('reset_at')
    // A number that increases with each change of settings, each reset, and the deletion. A scan compares this number
    // to detect that its facts about the zone are outdated.
    table.integer('version').notNullable()
    table.bigInteger('created_at').notNullable()
    table.bigInteger('updated_at').notNullable()
    // The time of the deletion. The row is kept, because scans and later offline reports refer to the zone.
    table.bigInteger('deleted_at')
    table.index(['workspace_id', 'id'])
    table.index(['workspace_id', 'project_id', 'id'])
  })

  // The accepted scans with a zone that were not reversed. A segment is the time between two resets of the zone.
  await db.schema.createTable('zone_movements', (table) => {
    table.uuid('scan_id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('zone_id').notNullable().references('zones.id')
    table.uuid('pass_id').notNullable().references('passes.id')
    table.integer('segment').notNullable()
    table.bigInteger('at').notNullable()
    // The order of movements of a pass that have the same time.
    table.integer('sequence').notNullable()
    table.text('direction').notNullable()
    // The change of `inside`: 1, -1, or 0 if a pass that is inside enters again or one that is outside exits again.
    table.smallint('delta').notNullable()
    // For an entry, the scan that debited its use. A re-entry continues the use of an earlier entry.
    table.uuid('use_scan_id')
    table.index(
      ['workspace_id', 'pass_id', 'zone_id', 'segment', 'at', 'sequence', 'direction'],
      'zone_movements_by_pass',
    )
    table.index(['workspace_id', 'zone_id', 'at', 'segment', 'delta'], 'zone_movements_by_time')
  })

  await db.schema.createTable('zone_adjustments', (table) => {
    table.uuid('id').primary()
    table.uuid('workspace_id').notNullable()
    table.uuid('zone_id').notNullable().references('zones.id')
    table.integer('segment').notNullable()
    table.bigInteger('at').notNullable()
    table.integer('delta').notNullable()
    table.text('reason').notNullable()
    table.text('external_ref').notNullable()
    table.unique(['zone_id', 'external_ref'])
    table.index(['workspace_id', 'zone_id', 'at', 'segment', 'delta'], 'zone_adjustments_by_time')
  })

  // Each reset of a zone starts a segment. Segment 0 has no row.
  await db.schema.createTable('zone_resets', (table) => {
    table.uuid('zone_id').notNullable().references('zones.id')
    table.integer('segment').notNullable()
    table.uuid('workspace_id').notNullable()
    table.bigInteger('at').notNullable()
    table.text('reason').notNullable()
    table.text('external_ref')
    table.primary(['zone_id', 'segment'])
    table.unique(['zone_id', 'external_ref'])
    table.index(['zone_id', 'at', 'segment'])
  })
}
