import type { Knex } from 'knex'
import { CAP_WINDOW_MS } from '../../core/rules/sending/google-cap.ts'

export interface Forecast {
  /** Passes that are issued. */
  passCount: number
  /** Of these, registered by a device. */
  apple: number
  /** Of these, installed at google. */
  google: number
  /** Of these, passes whose places under the google cap are taken. */
  overCap: number
}

/** Whom a broadcast to these passes would reach at a moment. */
export async function forecastBroadcast(db: Knex, passes: Knex.QueryBuilder, at: Date): Promise<Forecast> {
  const registered = db('apple_registrations').whereRaw('apple_registrations.pass_id = passes.id')
  const installed = db('google_objects').whereRaw('google_objects.pass_id = passes.id').whereNotNull('installed_at')
  // One after the other: on large projects each takes its time, and others want to read, too.
  const all = await passes.clone().count({ n: '*' }).first()
  const apple = await passes.clone().whereExists(registered).count({ n: '*' }).first()
  const google = await passes.clone().whereExists(installed).count({ n: '*' }).first()
  const capped = await crowded(db, passes, at).first()
  return { passCount: Number(all.n), apple: Number(apple.n), google: Number(google.n), overCap: Number(capped.n) }
}

/** The rule of `exceedsCap` in SQL: passes with three sends that one at the moment would share some 24 hours with. */
function crowded(db: Knex, passes: Knex.QueryBuilder, at: Date): Knex.QueryBuilder {
  const t = at.getTime()
  const triples = passes
    .clone()
    .join('notifications', 'notifications.pass_id', 'passes.id')
    .where('google_due_at', '>', t - CAP_WINDOW_MS)
    .where('google_due_at', '<', t + CAP_WINDOW_MS)
    .select('notifications.pass_id', {
      last_at: 'google_due_at',
      first_at: db.raw('lag(google_due_at, 2) over (partition by notifications.pass_id order by google_due_at)'),
    })
  const last = 'case when last_at > ? then last_at else ? end'
  const first = 'case when first_at < ? then first_at else ? end'
  return db
    .from(triples.as('triples'))
    .whereNotNull('first_at')
    .whereRaw(`(${last}) - (${first}) < ?`, [t, t, t, t, CAP_WINDOW_MS])
    .countDistinct({ n: 'pass_id' })
}
