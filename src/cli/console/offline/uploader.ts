import type { Client } from '../../../client/client.ts'
import type { ApiError } from '../../../client/errors.ts'
import type { LedgerReason, ScanItem } from '../../../core/contract/scan-shapes.ts'
import type { OfflineScan } from '../../../core/contract/scanner.ts'
import { ask } from '../ask.ts'
import type { OfflineVerdict } from './records.ts'
import type { DoorStore } from './store.ts'

/** A verdict that now stands in the ledger. */
interface Upload {
  verdict: OfflineVerdict
  scan: ScanItem
  /** Why the server would have decided otherwise; null where it agrees. */
  conflict: LedgerReason | null
}

export interface UploadOptions {
  client: Client
  store: DoorStore
  signal: AbortSignal
  onUpload: (uploads: Upload[]) => void
  /** The server will never take it: why. */
  onRejection: (verdict: OfflineVerdict, error: ApiError) => void
}

const BATCH = 100

/**
 * Sends what waits, oldest first, until nothing does. Sending twice does no harm: a verdict stands in the ledger once
 * for its externalRef.
 * @returns 'refused' where the server takes none of them at all, as without permission; they are kept.
 */
export async function uploadPending(options: UploadOptions): Promise<'done' | 'silence' | ApiError> {
  const { store, signal } = options
  for (;;) {
    const batch = nextBatch(store.pending())
    if (batch.length === 0) return 'done'
    const reply = await send(batch, options)
    if (signal.aborted || reply.kind === 'silence') return 'silence'
    if (reply.kind === 'answer') continue
    if (![400, 413].includes(reply.error.status)) return reply.error
    // One of them, or all together, is not to be had: each alone, and a refused one holds up no other.
    for (const verdict of batch) {
      const alone = await send([verdict], options)
      if (signal.aborted || alone.kind === 'silence') return 'silence'
      if (alone.kind === 'refusal') setAside(verdict, alone.error, options)
    }
  }
}

/** A request names one list, so a batch ends where the list changes. */
function nextBatch(pending: OfflineVerdict[]): OfflineVerdict[] {
  const other = pending.findIndex((verdict) => verdict.snapshotId !== pending[0]!.snapshotId)
  return pending.slice(0, Math.min(BATCH, other < 0 ? BATCH : other))
}

async function send(batch: OfflineVerdict[], { client, store, signal, onUpload }: UploadOptions) {
  const body = { snapshotId: batch[0]!.snapshotId, scans: batch.map(toReport) }
  const reply = await ask((options) => client.scanner.report({ body }, options), signal)
  if (reply.kind !== 'answer') return reply
  const results = new Map(reply.value.results.map((result) => [result.externalRef, result]))
  const uploads = batch.map((verdict): Upload => {
    const { scan, conflict } = results.get(verdict.externalRef)!
    // An online request that was thought lost may have been recorded, with another verdict than was shown.
    const isOther = scan.result !== verdict.result
    return { verdict, scan, conflict: conflict ?? (isOther ? scan.reason : null) }
  })
  store.append(
    ...uploads.map(({ verdict, scan }) => ({
      kind: 'uploaded' as const,
      externalRef: verdict.externalRef,
      recordedAt: scan.recordedAt,
    })),
  )
  onUpload(uploads)
  return reply
}

function setAside(verdict: OfflineVerdict, error: ApiError, { store, onRejection }: UploadOptions): void {
  store.append({ kind: 'uploaded', externalRef: verdict.externalRef, recordedAt: null })
  onRejection(verdict, error)
}

function toReport({ kind, snapshotId, acceptedPassId, operationalAt, ...verdict }: OfflineVerdict): OfflineScan {
  return verdict
}
