/** What a transaction of background work is to take: who stands at a door waits behind one at most. */
const TARGET_MS = 20

/** Fewer would make a transaction of its overhead. */
const LEAST = 10

/** How many rows a transaction takes: the first one, and the most. */
export interface PaceOptions {
  first: number
  most: number
}

/** Finds out how many rows background work may take in each transaction. */
export interface Pace {
  /** What the next transaction is to take, for whoever has to fetch it before. */
  readonly rows: number
  /** Does as many rows as go well into a transaction, to be called within it: the wait for its turn does not count. */
  run<T>(work: (rows: number) => Promise<T>): Promise<T>
}

export function createPace({ first, most }: PaceOptions): Pace {
  let rows = first
  return {
    get rows() {
      return rows
    },
    async run(work) {
      const began = performance.now()
      const result = await work(rows)
      const took = performance.now() - began
      // Twice as many at most: one that was quick may have found little.
      const next = Math.round(rows * Math.min(2, TARGET_MS / took))
      rows = Math.min(most, Math.max(LEAST, next))
      return result
    },
  }
}
