import type { Database } from './database.ts'

/**
 * What this connection deletes from now on is overwritten with zeros in the file too, where SQLite would leave it until
 * its place is needed.
 */
export async function overwriteDeleted({ dialect, writer }: Database): Promise<void> {
  if (dialect === 'sqlite') await writer.raw('PRAGMA secure_delete = ON')
}

/** Pages of the search index that one transaction merges: others write between them. */
const MERGED_PAGES = 500

/**
 * What a label was before it changed stands in SQLite's search index until the parts that hold it are merged. Merges all
 * of them, a little in each transaction. (Told to delete securely at every change, the index would never hold any: but
 * that makes a change five times as dear.)
 */
export async function mergeSearchIndex({ dialect, writer }: Database): Promise<void> {
  if (dialect !== 'sqlite') return
  // Below zero it begins a merge of everything, above it goes on.
  for (let pages = -MERGED_PAGES; ; pages = MERGED_PAGES) {
    const before = await totalChanges(writer)
    await writer.raw(`insert into pass_search (pass_search, rank) values ('merge', ?)`, [pages])
    // The statement itself counts as one.
    if ((await totalChanges(writer)) - before < 2) return
  }
}

async function totalChanges(writer: Database['writer']): Promise<number> {
  const [{ n }] = await writer.raw('select total_changes() as n')
  return n
}

/**
 * Brings what was written into the file itself and empties the log beside it, which holds pages as they were before.
 * False where others read at that moment: it then happens when they next write much.
 */
export async function flushDeleted({ dialect, writer }: Database): Promise<boolean> {
  if (dialect !== 'sqlite') return true
  const [{ busy }] = await writer.raw('PRAGMA wal_checkpoint(TRUNCATE)')
  return busy === 0
}
