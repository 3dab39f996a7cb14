import type { ScanItem } from '../../core/contract/scan-shapes.ts'
import type { ScanStats, ScanStatsByProject } from '../../core/contract/scans.ts'
import { type Column, count, details, localTime, localTimeOr, table } from '../command/output.ts'

export function showScan(scan: ScanItem): string {
  const { conflict, validateAsOf, ...context } = scan.metadata
  return details([
    ['Scan', scan.id],
    ['Result', scan.reason && scan.result === 'denied' ? `denied: ${scan.reason}` : scan.result],
    ['Verified', scan.verified],
    ['Conflict', conflict ? `the server would have said ${conflict}` : null],
    ['Pass', scan.passId],
    ['External id', scan.externalPassId],
    ['Project', scan.projectId],
    ['Scanned', localTime(scan.scannedAt)],
    ['Recorded', localTime(scan.recordedAt)],
    ['Valid as of', localTimeOr(validateAsOf, null)],
    ['Device', scan.deviceId],
    ['Takes back', scan.reversesScanId ?? null],
    ['Because', scan.reversalReason ?? null],
    ...Object.entries(context).map(([name, value]) => [`  ${name}`, value ?? null] as const),
  ])
}

export function showStats(stats: ScanStats): string {
  return details([
    ['Passes', count(stats.totalPasses)],
    ['Redeemed', count(stats.redeemed)],
    ['Open', count(stats.open)],
    ['Scans', count(stats.totalScans)],
    ['Denied', count(stats.totalDenied)],
    ['Last scan', localTimeOr(stats.lastScanAt, 'none')],
  ])
}

type ProjectStats = ScanStatsByProject['items'][number]

const columns: Column<ProjectStats>[] = [
  { title: 'project', value: ({ projectId }) => projectId ?? 'none', whole: true },
  { title: 'passes', value: ({ totalPasses }) => count(totalPasses) },
  { title: 'redeemed', value: ({ redeemed }) => count(redeemed) },
  { title: 'scans', value: ({ totalScans }) => count(totalScans) },
  { title: 'denied', value: ({ totalDenied }) => count(totalDenied) },
]

export function showStatsByProject({ items }: ScanStatsByProject, width: number | undefined): string {
  return table(items, columns, { width })
}
