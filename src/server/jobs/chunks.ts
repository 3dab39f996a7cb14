import type { Job } from '../../storage/jobs/jobs-repository.ts'
import type { Repositories, Store } from '../../storage/store.ts'
import type { LongJobServices } from '../context.ts'

/**
 * Runs a long job in chunks, each in its own transaction, so that other work runs between two chunks and another worker
 * can resume the job. Each chunk waits for the event-loop scheduler. Between two chunks, the job returns to its queue
 * if the server stops or the job has run for TURN_MS. By default, a chunk has at least `store.passesPerTurn` rows:
 * chunks of ten rows cost a busy PostgreSQL five times as many round trips.
 * @param size the bounds of the number of rows per chunk; `prepare`, if given, runs before the transaction of each
 * chunk, and `chunk` receives its result
 * @param chunk processes the next rows; returns true after the last chunk
 * @returns whether the job is complete; false if the job returned to its queue, or was lost to another worker
 */
export async function workInChunks<Prepared = undefined>(
  job: Job,
  { store, stopping, clock, eventLoop }: LongJobServices,
  { prepare, ...size }: PaceOptions & { prepare?: (rows: number) => Promise<Prepared> },
  chunk: (tx: Repositories, rows: number, prepared: Prepared) => Promise<boolean>,
): Promise<boolean> {
  const pace = createPace({ least: store.passesPerTurn, ...size })
  let turnEndsAt: number | undefined
  for (;;) {
    const leave = await eventLoop.enterJobs(job.workspaceId, pace.rows)
    const isDone = await prepareAndRun().finally(leave)
    if (isDone !== false) return isDone === true
  }

  async function prepareAndRun(): Promise<boolean | undefined> {
    const prepared = (await prepare?.(pace.rows)) as Prepared
    return pace.run(store, (tx, rows) => runChunk(tx, rows, prepared))
  }

  async function runChunk(tx: Repositories, rows: number, prepared: Prepared): Promise<boolean | undefined> {
    if (!(await tx.jobs.lockForChunk(job))) return undefined
    // Measure the time from the first chunk. Otherwise, a job that waited for the event loop for longer than TURN_MS
    // would return to its queue without progress.
    turnEndsAt ??= performance.now() + TURN_MS
    if (!stopping.aborted && performance.now() < turnEndsAt) return chunk(tx, rows, prepared)
    await tx.jobs.snooze([job], clock())
    return undefined
  }
}

/**
 * The maximum time for which a job runs before it returns to its queue. Without this limit, a few busy workspaces could
 * hold all slots of a queue, because their new events can arrive as fast as a job processes them.
 */
const TURN_MS = 10_000

/** The target duration of a transaction. It is short, because a scan at a door can wait for the transaction to end. */
const TARGET_MS = 10

/**
 * The maximum factor by which the number of rows grows from one transaction to the next. It is low, because the next
 * rows can take longer than the last ones: with a factor of two, transactions took up to 62 ms while another workspace
 * overloaded the server.
 */
const GROWTH = 1.2

/** The default minimum number of rows per transaction. With fewer rows, the overhead of a transaction dominates. */
const LEAST = 10

interface PaceOptions {
  first: number
  least?: number
  most: number
}

export type Pace = ReturnType<typeof createPace>

/** Adapts the number of rows per transaction of background work to keep transactions within TARGET_MS. */
export function createPace({ first, least = LEAST, most }: PaceOptions) {
  let rows = first
  return {
    get rows() {
      return rows
    },
    /** Runs work in a transaction, and adapts `rows` to its duration. The wait for the write lock does not count. */
    async run<T>(store: Pick<Store, 'transaction'>, work: (tx: Repositories, rows: number) => Promise<T>): Promise<T> {
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
