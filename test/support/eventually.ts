import { expect, vi } from 'vitest'
import type { Database } from '../../src/storage/db/database.ts'

/**
 * Waits until what is expected holds, and resolves to what it gives: far longer than it takes, on however busy a machine.
 * What must hold within a time says that time itself.
 */
export function eventually<T>(expectation: () => T | Promise<T>, { interval = 25 } = {}): Promise<T> {
  return vi.waitFor(expectation, { timeout: 120_000, interval })
}

/** Waits until work is over, or waits for a row that another transaction of PostgreSQL holds. */
export async function overOrBlocked({ reader }: Database, work: Promise<unknown>): Promise<void> {
  let isOver = false
  const end = () => {
    isOver = true
  }
  void work.then(end, end)
  await eventually(async () => {
    const blocked = reader('pg_stat_activity').where({ wait_event_type: 'Lock' })
    expect(isOver || (await blocked.whereRaw('datname = current_database()')).length > 0).toBe(true)
  })
}
