import type { LedgerReason, ScanItem } from '../../core/contract/scan-shapes.ts'
import type { OfflineScan } from '../../core/contract/scanner.ts'
import { ledgerReason } from '../../core/rules/scan-reasons.ts'
import type { StoredScan } from '../../storage/scan-row.ts'
import type { RequestContext } from '../context.ts'
import { findMatches, type Judgement, judgeScan } from './judge-scan.ts'
import { toScanItem } from './scan-shapes.ts'
import { toStoredScan, writeScan } from './write-scan.ts'

export interface ReportedScan {
  externalRef: string
  scan: ScanItem
  conflict: LedgerReason | null
  idempotentReplay: boolean
}

/**
 * Stores what a device decided as it was acted on, and notes where the server would have decided otherwise. Each scan is
 * judged as of its own time by the ledger as it stands, the earlier before the later, and in a transaction of its own: a
 * long report holds nobody up, and one that is sent again goes on where it broke off.
 */
export async function reportScans(reported: OfflineScan[], context: RequestContext): Promise<ReportedScan[]> {
  const { store, workspaceId } = context
  const refs = [...new Set(reported.map(({ externalRef }) => externalRef))]
  const known = await store.scans.listByExternalRefs(workspaceId, refs)
  const stored = new Map(known.map((scan) => [scan.externalRef!, scan]))
  const results = new Map<OfflineScan, ReportedScan>()
  for (const report of reported.toSorted(byTime)) {
    const before = stored.get(report.externalRef)
    const { scan, isNew } = before ? { scan: before, isNew: false } : await recordReport(report, context)
    stored.set(report.externalRef, scan)
    results.set(report, toReported(scan, { isNew }))
  }
  return reported.map((report) => results.get(report)!)
}

/** One order for everyone, so that a report comes to the same whatever the order of its items. */
function byTime(a: OfflineScan, b: OfflineScan): number {
  return Date.parse(a.scannedAt) - Date.parse(b.scannedAt) || (a.externalRef < b.externalRef ? -1 : 1)
}

async function recordReport(
  report: OfflineScan,
  context: RequestContext,
): Promise<{ scan: StoredScan; isNew: boolean }> {
  const { store, workspaceId } = context
  const scannedAt = new Date(report.scannedAt)
  const attempt = { ...report, realTime: scannedAt, matches: await findMatches(store, workspaceId, report) }
  const recorded = await store.transaction(async (tx) => {
    const judgement = await judgeScan(tx, workspaceId, attempt, scannedAt)
    const scan = { ...toStoredScan(report, judgement, context), ...decidedOffline(report, judgement) }
    return (await writeScan(tx, scan, judgement, context)) ? scan : undefined
  })
  if (recorded) return { scan: recorded, isNew: true }
  const [scan] = await store.scans.listByExternalRefs(workspaceId, [report.externalRef])
  return { scan: scan!, isNew: false }
}

/** What the device decided stands, whatever the server thinks of it. */
function decidedOffline({ result, reason }: OfflineScan, judgement: Judgement): Partial<StoredScan> {
  const expected = ledgerReason(judgement.reasonCode)
  const decision = { result, reason, verified: 'offline' as const }
  if (expected === reason) return { ...decision, conflict: null }
  const message = result === 'accepted' ? 'Let in offline.' : 'Turned away offline.'
  return { ...decision, conflict: expected, reasonCode: null, message }
}

function toReported(scan: StoredScan, { isNew }: { isNew: boolean }): ReportedScan {
  return { externalRef: scan.externalRef!, scan: toScanItem(scan), conflict: scan.conflict, idempotentReplay: !isNew }
}
