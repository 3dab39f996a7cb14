import type { Knex } from 'knex'

/** The interval of checkpoints in milliseconds, and the number of pages (64 MB) above which the write-ahead log must be reset. */
const CHECKPOINT_MS = 1_000
const MAX_WAL_PAGES = 16_000

/**
 * Copies the write-ahead log into the database periodically. By default, SQLite does this in the commit that makes the log 1,000
 * pages long, and that commit then takes 100 ms instead of a few. While a writer is always active, a checkpoint never completes
 * and the log is never reset. If the log is long, the remaining pages are therefore copied in a turn at the writer.
 */
export function keepCheckpointing(db: Knex, writer: Knex) {
  // Ignore errors: the next write fails with the same error and reports it.
  const checkpoint = async (at: Knex): Promise<{ log: number }> => {
    const [copied] = await at.raw('PRAGMA wal_checkpoint(PASSIVE)').catch(() => [])
    return copied ?? { log: 0 }
  }
  const keepShort = async () => {
    const { log } = await checkpoint(db)
    if (log <= MAX_WAL_PAGES) return
    // Copy the pages that were added since, then those that were added during that copy, with the writer blocked.
    await checkpoint(db)
    await checkpoint(writer)
  }
  let running: Promise<unknown> | undefined
  const timer = setInterval(() => {
    running ??= keepShort().finally(() => {
      running = undefined
    })
  }, CHECKPOINT_MS).unref()
  return {
    async stop() {
      clearInterval(timer)
      await running
      await db.destroy()
    },
  }
}
