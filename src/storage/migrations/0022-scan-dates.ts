import type { Knex } from 'knex'
import type { RedemptionPolicy } from '../../core/contract/redemption.ts'
import { expiryDate } from '../../core/rules/redemption/redemption-windows.ts'
import { isPostgres } from '../db/dialect.ts'

/** Dates that scans and lists go by, and what the clocks of devices said where that cannot be. */
export async function up(db: Knex): Promise<void> {
  const sorted = isPostgres(db) ? 'text collate "C"' : 'text'
  await db.schema.alterTable('passes', (table) => {
    // The last date that the pass may be scanned as of; null where it never expires.
    table.specificType('expiry_date', sorted)
  })
  await db.schema.alterTable('accepted_scans', (table) => {
    // Set where a scan was made as of a date: it has no time of day that others are measured from.
    table.text('validity_date')
  })
  await db.schema.alterTable('scans', (table) => {
    table.bigInteger('device_time')
  })
  const refusal = isPostgres(db)
    ? 'for each row execute function refuse_ledger_change()'
    : `begin select raise(abort, 'the ledger of scans is append-only'); end`
  await db.raw(`create trigger scans_no_device_time_update before update of device_time on scans ${refusal}`)

  const date = isPostgres(db)
    ? `to_char(to_timestamp(expires_at / 1000) at time zone 'UTC', 'YYYY-MM-DD')`
    : `strftime('%Y-%m-%d', expires_at / 1000, 'unixepoch')`
  await db.raw(`update passes set expiry_date = ${date} where expires_at is not null`)
  await setDatesOfZones(db)
  await db.raw(`update accepted_scans
    set validity_date = (select validate_as_of from scans where scans.id = accepted_scans.scan_id)
    where scan_id in (select id from scans where validate_as_of is not null)`)
}

const CHUNK = 1_000

/** Dates of policies with a zone, in which no database of ours counts. */
async function setDatesOfZones(db: Knex): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000'
  for (;;) {
    const rows: { id: string; expires_at: number; redemption: string }[] = await db('passes')
      .where('id', '>', after)
      .whereNotNull('expires_at')
      .where((zoned) => zoned.where('has_windows', true).orWhereLike('redemption', '%"perPeriod"%'))
      .orderBy('id')
      .limit(CHUNK)
      .select('id', 'expires_at', 'redemption')
    const byDate = new Map<string, string[]>()
    for (const { id, expires_at, redemption } of rows) {
      const date = expiryDate(new Date(expires_at), JSON.parse(redemption) as RedemptionPolicy)
      byDate.set(date, [...(byDate.get(date) ?? []), id])
    }
    for (const [date, ids] of byDate) await db('passes').whereIn('id', ids).update({ expiry_date: date })
    if (rows.length < CHUNK) return
    after = rows.at(-1)!.id
  }
}
