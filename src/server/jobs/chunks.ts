import type { Job } from '../../storage/jobs/jobs.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { LongJobServices } from '../context.ts'

/**
 * Does the long work of a job a chunk at a time, each in a transaction of its own, so that whoever takes over goes on after
 * it and other work gets its turn in between. A server that stops gives the job back between two chunks.
 * @param size the rows of a chunk
 * @param chunk does the next one, of so many rows; true when it was the last
 * @returns whether the work is done; false where the job is no longer ours
 */
export async function workInChunks(
  job: Job,
  { store, stopping, clock }: LongJobServices,
  size: PaceOptions,
  chunk: (tx: Repositories, rows: number) => Promise<boolean>,
): Promise<boolean> {
  const pace = createPace(size)
  for (;;) {
    const isDone = await pace.run(store, async (tx, rows) => {
      if (!(await tx.jobs.lockForChunk(job))) return undefined
      if (!stopping.aborted) return chunk(tx, rows)
      await tx.jobs.snooze([job], clock())
      return undefined
    })
    if (isDone !== false) return isDone === true
  }
}

/** What a transaction of background work is to take: who stands at a door waits behind one at most. */
const TARGET_MS = 10

/**
 * A transaction takes so many times as many rows at most as the one before: they differ in cost, and one that was quick may
 * have found little. With twice as many, those beside an attack took 18 ms in the middle and up to 62.
 */
const GROWTH = 1.2

/** Fewer would make a transaction of its overhead. */
const LEAST = 10

/** How many rows a transaction takes: the first one, the least, and the most. */
interface PaceOptions {
  first: number
  /** 10 by default. */
  least?: number
  most: number
}

/** Finds out how many rows background work may take in each transaction. */
export interface Pace {
  /** What the next transaction is to take, for whoever has to fetch it before. */
  readonly rows: number
  /** Does as many rows as go well into a transaction. Its commit counts, the wait for its turn does not. */
  run<T>(store: Pick<Store, 'transaction'>, work: (tx: Repositories, rows: number) => Promise<T>): Promise<T>
}

/** Finds how many rows a transaction may take to last no longer than its limit: see Pace. */
export function createPace({ first, least = LEAST, most }: PaceOptions): Pace {
  let rows = first
  return {
    get rows() {
      return rows
    },
    async run(store, work) {
      let began = 0
      const result = await store.transaction((tx) => {
        began = performance.now()
        return work(tx, rows)
      })
      const took = performance.now() - began
      const next = Math.round(rows * Math.min(GROWTH, TARGET_MS / took))
      rows = Math.min(most, Math.max(least, next))
      return result
    },
  }
}
