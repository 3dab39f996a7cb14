import { atStart, type Journal, type JournalEntry } from './bulk-journal.ts'
import type { OutputFile } from './output-file.ts'
import {
  type Batch,
  batchRows,
  type CheckedRow,
  type Columns,
  type FailedRow,
  outcomeOf,
  type PlacedRow,
  type RowAction,
  type RowResult,
} from './row-action.ts'

export interface BulkRun<Item> extends Pick<RowAction<Item>, 'resultColumns' | 'batchesInFlight'> {
  rows: AsyncIterable<CheckedRow<Item>>
  columns: Columns
  /** Returns a result for each item, in the order of the items. */
  send: (items: Item[]) => Promise<RowResult[]>
  /** The journal; `undefined` if the run cannot be resumed. */
  journal: Journal | undefined
  out: OutputFile | undefined
  failures: OutputFile | undefined
  /** The signal to stop: no more rows are read, and batches in flight finish. */
  stop: AbortSignal
  /** Called after each batch with the checkpoint and the rows of the batch. */
  onBatch: (entry: JournalEntry, rows: (PlacedRow | FailedRow)[]) => void
}

/**
 * The maximum interval between flushes to disk. Only a power failure loses unflushed rows: if the process is killed,
 * the operating system still writes its rows.
 */
const SYNC_EVERY_MS = 1_000

/**
 * Sends the rows in concurrent batches and writes each batch in the order of the input: first the output files, then
 * the journal. After a crash, the journal can lag behind the files, and a batch is sent twice. Therefore, actions must
 * be idempotent. Returns the last checkpoint.
 * @throws the error that prevented a whole batch, after all earlier batches are written
 */
export async function runRows<Item>(run: BulkRun<Item>): Promise<JournalEntry> {
  const book = openBook(run)
  const inFlight: Promise<Answer<Item>>[] = []
  let failure: { error: unknown } | undefined
  const settleFirst = async () => {
    const settled = await inFlight.shift()!
    // Write nothing after a failed batch. Otherwise, a resumed run would skip the failed batch.
    if (failure) return
    try {
      if ('error' in settled) failure = settled
      else await book.write(settled.batch, settled.results)
    } catch (error) {
      // The batch could not be written, for example because the disk is full.
      failure = { error }
    }
  }
  let unread: { error: unknown } | undefined
  try {
    for await (const batch of untilStopped(batchRows(run.rows, book.entry().rows), run.stop)) {
      inFlight.push(answer(batch, run.send))
      if (inFlight.length >= run.batchesInFlight) await settleFirst()
      if (failure) break
    }
  } catch (error) {
    unread = { error }
  }
  while (inFlight.length > 0) await settleFirst()
  failure ??= unread
  await book.close({ complete: !failure && !run.stop.aborted })
  if (failure) throw failure.error
  return book.entry()
}

type Answer<Item> = { batch: Batch<Item>; results: RowResult[] } | { error: unknown }

/**
 * Sends a batch. If this fails, resolves to the error, because a rejection would be unhandled until the caller awaits
 * the batch.
 */
async function answer<Item>(batch: Batch<Item>, send: BulkRun<Item>['send']): Promise<Answer<Item>> {
  const items = batch.rows.flatMap((row) => ('item' in row ? [row.item] : []))
  try {
    return { batch, results: items.length > 0 ? await send(items) : [] }
  } catch (error) {
    return { error }
  }
}

function openBook<Item>({ columns, resultColumns, journal, out, failures, onBatch }: BulkRun<Item>) {
  let entry = journal?.start ?? atStart
  let syncedAt = Date.now()
  const sync = async () => {
    // Flush the journal last. Otherwise, after a power failure, it could contain rows that the files lost.
    await Promise.all([out?.sync(), failures?.sync()])
    journal?.sync()
    syncedAt = Date.now()
  }
  const write = async (batch: Batch<unknown>, results: RowResult[]): Promise<void> => {
    const outcome = outcomeOf(batch, results, columns, resultColumns)
    const counts = { ...entry.counts }
    const outcomes: JournalEntry['outcomes'] = []
    for (const { outcome: name } of outcome.rows) {
      counts[name] = (counts[name] ?? 0) + 1
      const last = outcomes.at(-1)
      if (last?.[0] === name) last[1]++
      else outcomes.push([name, 1])
    }
    await out?.append(outcome.out)
    await failures?.append(outcome.failures)
    entry = {
      rows: entry.rows + batch.rows.length,
      bytes: batch.bytes,
      counts,
      failing: entry.failing + outcome.failures.length,
      outcomes,
      outBytes: out?.bytes ?? 0,
      failuresBytes: failures?.bytes ?? 0,
      complete: false,
    }
    journal?.append(entry)
    if (Date.now() - syncedAt > SYNC_EVERY_MS) await sync()
    onBatch(entry, outcome.rows)
  }
  return {
    entry: () => entry,
    write,
    close: async ({ complete }: { complete: boolean }) => {
      if (complete) {
        entry = { ...entry, complete, outcomes: [], outBytes: out?.bytes ?? 0, failuresBytes: failures?.bytes ?? 0 }
        journal?.append(entry)
      }
      await sync()
    },
  }
}

/** Yields items until stopped. Then abandons a pending item, because a pipe might never deliver it. */
async function* untilStopped<T>(items: AsyncGenerator<T>, stop: AbortSignal): AsyncGenerator<T> {
  for (;;) {
    const next = await nextUnlessStopped(items, stop)
    if (!next || next.done || stop.aborted) return
    yield next.value
  }
}

/** Returns the next item; `undefined` when stopped. With `Promise.race`, the signal would keep every item in memory. */
function nextUnlessStopped<T>(items: AsyncGenerator<T>, stop: AbortSignal): Promise<IteratorResult<T> | undefined> {
  return new Promise((resolve, reject) => {
    if (stop.aborted) return resolve(undefined)
    const onStop = () => resolve(undefined)
    stop.addEventListener('abort', onStop, { once: true })
    items
      .next()
      .then(resolve, reject)
      .finally(() => stop.removeEventListener('abort', onStop))
  })
}
