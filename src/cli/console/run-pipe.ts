import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { PATIENCE_MS } from './connection.ts'
import { createDoor, type DoorOptions } from './door.ts'
import type { Outcome } from './outcome.ts'

export interface PipeOptions extends Omit<DoorOptions, 'onOutcome' | 'onChange' | 'sameScanMs'> {
  input: Readable
  /** False where nobody reads any more. */
  write: (outcome: Outcome) => Promise<boolean>
  signal: AbortSignal
}

export interface PipeSummary {
  /** Judged without the server, which has not got them yet. */
  pending: number
  /** Not judged at all. */
  failed: number
}

/** One payload a line in, one outcome out, in the same order. Every line is a scan, however soon it comes again. */
export async function runPipe({ input, write, signal, ...options }: PipeOptions): Promise<PipeSummary> {
  const door = createDoor({ ...options, sameScanMs: 0, onOutcome: () => undefined, onChange: () => undefined })
  let failed = 0
  const { connection, lists } = door.state
  try {
    // What an earlier run left goes first.
    if (options.isReached) await connection.whenOnline(PATIENCE_MS)
    for await (const line of createInterface({ input, signal, crlfDelay: Number.POSITIVE_INFINITY })) {
      if (signal.aborted) break
      if (line === '') continue
      const outcome = await door.scan(line)
      if (outcome.result === 'error') failed += 1
      if (!(await write(outcome))) break
    }
    await Promise.all([connection.whenOnline(PATIENCE_MS), lists.whenTaken(PATIENCE_MS)])
  } finally {
    await door.stop()
  }
  return { pending: door.state.pending, failed }
}
