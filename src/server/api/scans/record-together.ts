import { grouped } from '../../../storage/db/grouped.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { Store } from '../../../storage/store.ts'
import type { RequestContext } from '../../context.ts'
import { type Attempt, type EvaluatedScan, evaluateScans, namedPass } from './evaluate-scans.ts'
import { type ScannedBody, writeScans } from './write-scan.ts'

/** A scan that waits to be judged and recorded. */
export interface PendingScan {
  attempt: Attempt & ScannedBody
  context: RequestContext
  /** What is to stand in the ledger: what a device decided may differ from the judgement. */
  toScan(body: ScannedBody, decision: EvaluatedScan, context: RequestContext): StoredScan
}

export interface RecordedScan {
  scan: StoredScan
  decision: EvaluatedScan
}

/**
 * Judges scans of a workspace that wait at the same moment and records them, in one transaction: each as if it had come
 * alone. Scans of one pass are never judged together: the later counts what the earlier used, and so comes in a later set.
 * Undefined where the externalRef stands in the ledger already.
 */
export const recordTogether = grouped(
  (store: Store, take: () => PendingScan[]) =>
    store.transaction(async (tx): Promise<(RecordedScan | undefined)[]> => {
      const pending = take()
      const { workspaceId } = pending[0]!.context
      const decisions = await evaluateScans(
        tx,
        workspaceId,
        pending.map(({ attempt }) => attempt),
      )
      const judged = pending.map(({ attempt, context, toScan }, n) => ({
        scan: toScan(attempt, decisions[n]!, context),
        decision: decisions[n]!,
        correlationId: context.correlationId,
      }))
      const written = await writeScans(tx, workspaceId, judged)
      return judged.map((one) => (written.has(one) ? one : undefined))
    }),
  ({ attempt }) => namedPass(attempt),
)
