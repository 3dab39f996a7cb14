import type { Knex } from 'knex'

/** How often SQLite's write-ahead log is copied, and the pages (64 MB) past which it is to begin anew. */
const CHECKPOINT_MS = 1_000
const MAX_WAL_PAGES = 16_000

/**
 * Copies what the write-ahead log holds into the database now and then. Left to itself SQLite does so in the commit of
 * whoever makes the log a thousand pages long, which then takes a tenth of a second instead of a few milliseconds. Beside a
 * writer that never rests a copy never comes to the end, and so the log never begins anew: once it is long, the little that is
 * left is copied in a turn at the writer.
 */
export function keepCheckpointing(db: Knex, writer: Knex) {
  // What goes wrong with it goes wrong with the next write, too, and is told there.
  const checkpoint = async (at: Knex): Promise<{ log: number }> => {
    const [copied] = await at.raw('PRAGMA wal_checkpoint(PASSIVE)').catch(() => [])
    return copied ?? { log: 0 }
  }
  const keepShort = async () => {
    const { log } = await checkpoint(db)
    if (log <= MAX_WAL_PAGES) return
    // What came meanwhile; and in the turn what came during that.
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
