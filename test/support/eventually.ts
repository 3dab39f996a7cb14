import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import type { Database } from '../../src/storage/db/database.ts'

/** The maximum sum of pauses. Checks do not count, so that a busy machine or a blocked process gets more time. */
const PATIENCE_MS = 120_000

/**
 * Waits until an expectation holds, and resolves to its result. The limit is much longer than any expected wait, even
 * on a busy machine. If something must hold within a time, the test must check that time itself. Checks often at first
 * and then less often, because each check has a cost. `interval` is the longest pause, in milliseconds.
 */
export async function eventually<T>(expectation: () => T | Promise<T>, { interval = 100 } = {}): Promise<T> {
  let waited = 0
  for (let pause = 10; ; pause = Math.min(pause * 1.5, interval)) {
    try {
      return await expectation()
    } catch (error) {
      if (waited > PATIENCE_MS) throw error
    }
    await sleep(pause)
    waited += pause
    // Advance fake timers, because the expected event might depend on them.
    if (vi.isFakeTimers()) vi.advanceTimersByTime(pause)
  }
}

const BEAT_MS = 50

/**
 * Like `eventually`, with a limit in milliseconds. Measures time in ticks of this process. On a busy machine, ticks are
 * late, which extends the limit accordingly.
 */
export async function within<T>(milliseconds: number, expectation: () => T | Promise<T>): Promise<T> {
  let beats = 0
  const beating = setInterval(() => {
    beats += 1
  }, BEAT_MS)
  try {
    const result = await eventually(expectation, { interval: 25 })
    expect(beats * BEAT_MS).toBeLessThan(milliseconds)
    return result
  } finally {
    clearInterval(beating)
  }
}

/** Waits until the work ends, or until it waits for a row that another transaction of PostgreSQL has locked. */
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
