import { atStart, type Journal, type JournalEntry } from './journal.ts'
import type { OutputFile } from './output-file.ts'
import {
  type Batch,
  batchRows,
  type CheckedRow,
  type Columns,
  type FailedRow,
  outcomeOf,
  type PlacedRow,
  type RowResult,
} from './row-action.ts'

/** What a run over rows reads, sends and writes. */
export interface BulkRun<Item> {
  rows: AsyncIterable<CheckedRow<Item>>
  columns: Columns
  resultColumns: readonly string[]
  /** A result for each item, in their order. */
  send: (items: Item[]) => Promise<RowResult[]>
  batchesInFlight: number
  /** Undefined where the input cannot be read twice. */
  journal: Journal | undefined
  out: OutputFile | undefined
  failures: OutputFile | undefined
  /** Aborted to stop: no more rows are taken, and what is in flight ends. */
  stop: AbortSignal
  onProgress: (entry: JournalEntry) => void
  onRows: (rows: (PlacedRow | FailedRow)[]) => void
}

/** Written at least this often to the disk itself; the operating system has it at once. */
const SYNC_EVERY_MS = 1_000

/**
 * Sends the rows in batches, several at a time, and writes each batch down in the order of the input: files first, then
 * the journal. A crash at any moment leaves a journal that says too little at most, and a batch may be sent twice: an
 * action must come to the same when it is repeated. Returns how far it came.
 * @throws what kept a whole batch from being answered, once everything before it is written down.
 */
export async function runRows<Item>(run: BulkRun<Item>): Promise<JournalEntry> {
  const book = openBook(run)
  const inFlight: Promise<Answer<Item>>[] = []
  let failure: { error: unknown } | undefined
  const settleFirst = async () => {
    const settled = await inFlight.shift()!
    // After a batch that failed nothing is written down: the journal knows a beginning, and no gaps.
    if (!failure) failure = 'error' in settled ? settled : await book.write(settled.batch, settled.results)
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

/** Never rejects, since an answer may wait for its turn. */
async function answer<Item>(batch: Batch<Item>, send: BulkRun<Item>['send']): Promise<Answer<Item>> {
  const items = batch.rows.flatMap((row) => ('item' in row ? [row.item] : []))
  try {
    return { batch, results: items.length > 0 ? await send(items) : [] }
  } catch (error) {
    return { error }
  }
}

type BookKeys = 'columns' | 'resultColumns' | 'journal' | 'out' | 'failures' | 'onProgress' | 'onRows'

/** Keeps the files and the journal in step. */
function openBook(run: Pick<BulkRun<never>, BookKeys>) {
  const { columns, resultColumns, journal, out, failures } = run
  let entry = journal?.start ?? atStart
  let syncedAt = Date.now()
  const sync = async () => {
    // The journal last: it must never promise what the files have lost.
    await Promise.all([out?.sync(), failures?.sync()])
    journal?.sync()
    syncedAt = Date.now()
  }
  const write = async (batch: Batch<unknown>, results: RowResult[]) => {
    const outcome = outcomeOf(batch, results, columns, resultColumns)
    const outcomes = runsOf(outcome.rows)
    await out?.append(outcome.out)
    await failures?.append(outcome.failures)
    entry = {
      rows: entry.rows + batch.rows.length,
      bytes: batch.bytes,
      counts: addRuns(entry.counts, outcomes),
      failing: entry.failing + outcome.failures.length,
      outcomes,
      outBytes: out?.bytes ?? 0,
      failuresBytes: failures?.bytes ?? 0,
      complete: false,
    }
    journal?.append(entry)
    if (Date.now() - syncedAt > SYNC_EVERY_MS) await sync()
    run.onProgress(entry)
    run.onRows(outcome.rows)
  }
  return {
    entry: () => entry,
    /** What kept the batch from being written down: a full disk, most likely. */
    write: (batch: Batch<unknown>, results: RowResult[]): Promise<{ error: unknown } | undefined> => {
      return write(batch, results).then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
    },
    close: async ({ complete }: { complete: boolean }) => {
      if (complete) {
        entry = { ...entry, complete, outcomes: [], outBytes: out?.bytes ?? 0, failuresBytes: failures?.bytes ?? 0 }
        journal?.append(entry)
      }
      await sync()
    },
  }
}

/** What became of each row, with equal ones beside each other counted. */
function runsOf(rows: readonly PlacedRow[]): JournalEntry['outcomes'] {
  const runs: JournalEntry['outcomes'] = []
  for (const { outcome } of rows) {
    const last = runs.at(-1)
    if (last?.[0] === outcome) last[1] += 1
    else runs.push([outcome, 1])
  }
  return runs
}

function addRuns(counts: JournalEntry['counts'], runs: JournalEntry['outcomes']): JournalEntry['counts'] {
  const sum = { ...counts }
  for (const [name, rows] of runs) sum[name] = (sum[name] ?? 0) + rows
  return sum
}

/** Ends at once when stopped, even while the next item is awaited: a pipe may never bring it. */
async function* untilStopped<T>(items: AsyncGenerator<T>, stop: AbortSignal): AsyncGenerator<T> {
  for (;;) {
    const next = await nextUnlessStopped(items, stop)
    if (!next || next.done || stop.aborted) return
    yield next.value
  }
}

/** Not Promise.race, which would keep every item alive for as long as the signal lives. */
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
