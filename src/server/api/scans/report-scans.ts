import { MAX_LOCKED_REPORTS } from '../../../core/bounds.ts'
import type { OfflineResults, OfflineScan } from '../../../core/contract/scans/scanner.ts'
import { ApiError } from '../../../core/errors.ts'
import { ledgerReason } from '../../../core/rules/redemption/scan-reasons.ts'
import type { StoredPass } from '../../../storage/passes/pass-row.ts'
import type { StoredScan } from '../../../storage/scans/scan-row.ts'
import type { RequestContext } from '../../context.ts'
import { projectOfReport } from '../token-projects.ts'
import type { EvaluatedScan } from './attempt.ts'
import { continuedUse, findMatches, toStoredScan } from './evaluate-scans.ts'
import { findOtherReadings } from './other-reading.ts'
import { type PendingScan, recordTogether, takenRef } from './record-scan.ts'
import { atDoor, inZone, toScanItem } from './scan-shapes.ts'
import { noZone } from './zone-scans.ts'

type ReportedScan = OfflineResults['results'][number]

type ProjectScan = OfflineScan & { projectId: string | undefined }

interface Received {
  report: ProjectScan
  /** The reported payload or, if the scanner altered the message of the barcode, the original message. */
  qrPayload: string | undefined
  matches: string[]
  /** The reported time of the scan or, if that time is impossible, the nearest possible time. */
  realTime: Date
  /** The reported time if it is impossible, else null. */
  deviceTime: Date | null
}

/**
 * Records the decisions of a device, and marks those that conflict with the server's evaluation. Each scan is evaluated
 * as of its time against the current ledger. The scans of a pass are evaluated in order of time. A report is recorded
 * in parts, so that it does not block other scans. A retry of an interrupted report records the remaining parts.
 */
export async function reportScans(given: OfflineScan[], context: RequestContext): Promise<ReportedScan[]> {
  const { store, workspaceId } = context
  const projectId = projectOfReport(context)
  const reported = given.map((scan) => ({ ...atDoor(asDecided(scan, context), context), projectId }))
  const refs = [...new Set(reported.map(({ externalRef }) => externalRef))]
  const known = await store.scans.listByExternalRefs(workspaceId, refs)
  const stored = new Map(known.map((scan) => [scan.externalRef!, { scan, isNew: false }]))
  const unknown = reported.filter(({ externalRef }) => !stored.has(externalRef))
  const received = await receive(unknown, context)
  const first = new Map<string, Received>()
  for (const one of received.toSorted(byTime)) {
    if (!first.has(one.report.externalRef)) first.set(one.report.externalRef, one)
  }
  const results = new Map<OfflineScan, ReportedScan>()
  const recording = [...first.values()].map(async (one) => {
    const { scan, isNew } = await recordReport(one, context, { canWait: given.length > MAX_LOCKED_REPORTS })
    stored.set(one.report.externalRef, { scan, isNew: false })
    results.set(one.report, toReported(scan, { isNew }))
  })
  await Promise.all(recording)
  return reported.map(
    (report) => results.get(report) ?? toReported(stored.get(report.externalRef)!.scan, { isNew: false }),
  )
}

/**
 * Returns a report with its zone and direction. If the report has neither, the zone and direction of the door are not
 * used, because the door can have received them after the scan.
 */
function asDecided(scan: OfflineScan, context: RequestContext): OfflineScan {
  return scan.zoneId === undefined && scan.direction === undefined ? scan : inZone(scan, context)
}

const MAX_AHEAD_MS = 24 * 3_600_000

/** Finds the passes of reports. Moves each time into the range from the creation of the pass to a day from now. */
async function receive(reports: ProjectScan[], context: RequestContext): Promise<Received[]> {
  const { store, workspaceId, now } = context
  const found = await findMatches(store, workspaceId, reports)
  const exact = reports.map((report, n) => ({ ...report, matches: found[n]! }))
  const others = await findOtherReadings(exact, context)
  const named = reports.map((report, n) => ({ report, qrPayload: report.qrPayload, matches: found[n]!, ...others[n] }))
  const ids = named.flatMap(({ matches }) => (matches.length === 1 ? matches : []))
  const passes = ids.length === 0 ? [] : await store.passes.listByIds(workspaceId, [...new Set(ids)])
  await requireZones(named, passes, context)
  const madeAt = new Map(passes.map(({ id, createdAt }) => [id, createdAt.getTime()]))
  return named.map(({ report, qrPayload, matches }) => {
    const reportedAt = Date.parse(report.scannedAt)
    const earliest = (matches.length === 1 ? madeAt.get(matches[0]!) : undefined) ?? reportedAt
    const time = Math.max(earliest, Math.min(reportedAt, now.getTime() + MAX_AHEAD_MS))
    return {
      report,
      qrPayload,
      matches,
      realTime: new Date(time),
      deviceTime: time === reportedAt ? null : new Date(reportedAt),
    }
  })
}

/**
 * Checks the zones of all reports before any is recorded. Accepts a deleted zone, because the device can have scanned
 * before the deletion.
 * @throws ApiError NOT_FOUND for an unknown zone, or a zone of a project other than the scan's
 */
async function requireZones(
  reports: { report: ProjectScan; matches: string[] }[],
  passes: StoredPass[],
  { store, workspaceId }: RequestContext,
): Promise<void> {
  const inZones = reports.filter(({ report }) => report.zoneId !== undefined)
  if (inZones.length === 0) return
  const zones = await store.zones.listByIds(workspaceId, [...new Set(inZones.map(({ report }) => report.zoneId!))])
  const projects = new Map(zones.map(({ id, projectId }) => [id, projectId]))
  const byId = new Map(passes.map((pass) => [pass.id, pass]))
  for (const { report, matches } of inZones) {
    const zoneId = report.zoneId!
    const pass = matches.length === 1 ? byId.get(matches[0]!) : undefined
    const expected = report.projectId ?? (pass ? pass.projectId : projects.get(zoneId))
    if (!projects.has(zoneId) || projects.get(zoneId) !== expected) throw noZone(zoneId)
  }
}

/**
 * Compares reports by time. The order is total, so that the result of a report does not depend on the order of its
 * items.
 */
function byTime(a: Received, b: Received): number {
  return (
    a.realTime.getTime() - b.realTime.getTime() ||
    Date.parse(a.report.scannedAt) - Date.parse(b.report.scannedAt) ||
    (a.report.externalRef < b.report.externalRef ? -1 : 1)
  )
}

async function recordReport(
  { report, qrPayload, matches, realTime, deviceTime }: Received,
  context: RequestContext,
  { canWait }: Pick<PendingScan, 'canWait'>,
): Promise<{ scan: StoredScan; isNew: boolean }> {
  const { store, workspaceId } = context
  const recorded = await recordTogether(store, {
    attempt: { ...report, qrPayload, realTime, statusAt: realTime, matches },
    context,
    canWait,
    toScan: (body, evaluation) => ({
      ...toStoredScan(body, evaluation, context),
      ...decidedOffline(report, evaluation, deviceTime),
    }),
  })
  if (recorded instanceof ApiError) throw recorded
  if (recorded) return { scan: recorded.scan, isNew: true }
  const [scan] = await store.scans.listByExternalRefs(workspaceId, [report.externalRef])
  return { scan: scan ?? takenRef(report.externalRef), isNew: false }
}

const OFFLINE_MESSAGES = {
  in: { accepted: 'The door admitted the holder offline.', denied: 'The door denied entry offline.' },
  out: { accepted: 'The door recorded an exit offline.', denied: 'The door denied an exit offline.' },
}

/**
 * Returns the fields that keep the decision of the device. `conflict` is set if the server's evaluation differs, or if
 * the reported time is impossible.
 */
function decidedOffline(
  { result, reason, direction }: OfflineScan,
  evaluation: EvaluatedScan,
  deviceTime: Date | null,
): Partial<StoredScan> {
  const expected = ledgerReason(evaluation.reasonCode)
  const useScanId = result === 'accepted' ? continuedUse(evaluation) : null
  const decision = { result, reason, deviceTime, useScanId, verified: 'offline' as const }
  if (expected === reason) return { ...decision, conflict: deviceTime && expected }
  const message = OFFLINE_MESSAGES[direction ?? 'in'][result]
  return { ...decision, conflict: expected, reasonCode: null, message }
}

function toReported(scan: StoredScan, { isNew }: { isNew: boolean }): ReportedScan {
  return { externalRef: scan.externalRef!, scan: toScanItem(scan), conflict: scan.conflict, idempotentReplay: !isNew }
}
