import type { Knex } from 'knex'
import type { DeliveryRow } from './delivery-row.ts'
import { isInJson, runPrepared } from './dialect.ts'

/** What an attempt changes and what decides how it goes on. */
export const PROGRESS_COLUMNS = [
  ...(['status', 'due_at', 'scheduled_attempts', 'is_redelivery', 'resume_at', 'attempt_count'] as const),
  ...(['last_response_code', 'last_error'] as const),
]

const CHANGED_COLUMNS = [...PROGRESS_COLUMNS, 'updated_at' as const]

/**
 * Writes the progress of deliveries that the caller holds. Most of them become alike: those are one statement of few
 * values; the others, each with a time of its own, are one together.
 */
export async function writeProgress(db: Knex, rows: DeliveryRow[]): Promise<void> {
  const groups = new Map<string, DeliveryRow[]>()
  for (const row of rows) {
    const key = JSON.stringify(CHANGED_COLUMNS.map((column) => row[column]))
    groups.set(key, [...(groups.get(key) ?? []), row])
  }
  const single: DeliveryRow[] = []
  for (const group of groups.values()) {
    if (group.length === 1) single.push(...group)
    else await update(db, group)
  }
  if (single.length > 0) await db('webhook_deliveries').insert(single).onConflict('id').merge(CHANGED_COLUMNS)
}

async function update(db: Knex, group: DeliveryRow[]): Promise<void> {
  const changes = Object.fromEntries(CHANGED_COLUMNS.map((column) => [column, group[0]![column] ?? null]))
  const ids = JSON.stringify(group.map(({ id }) => id))
  await runPrepared(db, 'update-deliveries-alike', [...Object.values(changes), ids], () =>
    db('webhook_deliveries').update(changes).where(isInJson(db, 'id')),
  )
}
