import type { ScanItem } from '../../core/contract/scan-shapes.ts'
import { type CsvColumn, csvFormat, jsonLines, type PageFormat } from '../arguments/list.ts'
import { type Column, tableWriter } from '../command/output.ts'

/** What became of a scan, in a word: the reason says more than that it was denied. */
function verdictOf({ result, reason }: ScanItem): string {
  return result === 'denied' && reason ? reason : result
}

const narrow: Column<ScanItem>[] = [
  { title: 'id', value: (scan) => scan.id, whole: true },
  { title: 'scanned', value: (scan) => scan.scannedAt.slice(0, 16).replace('T', ' '), whole: true },
  { title: 'verdict', value: verdictOf },
  { title: 'pass', value: (scan) => scan.externalPassId ?? 'none' },
]

const wide: Column<ScanItem>[] = [
  ...narrow,
  { title: 'device', value: (scan) => scan.deviceId },
  { title: 'verified', value: ({ verified, metadata }) => (metadata.conflict ? `${verified}, conflict` : verified) },
]

const WIDE_COLUMNS = 110

export function scansTable(width: number | undefined): PageFormat<ScanItem> {
  const write = tableWriter(width !== undefined && width < WIDE_COLUMNS ? narrow : wide, { width })
  return (scans) => `${write(scans)}\n`
}

const csvColumns: CsvColumn<ScanItem>[] = [
  ['id', (scan) => scan.id],
  ['result', (scan) => scan.result],
  ['reason', (scan) => scan.reason],
  ['verified', (scan) => scan.verified],
  ['passId', (scan) => scan.passId],
  ['externalPassId', (scan) => scan.externalPassId],
  ['projectId', (scan) => scan.projectId],
  ['scannedAt', (scan) => scan.scannedAt],
  ['recordedAt', (scan) => scan.recordedAt],
  ['deviceId', (scan) => scan.deviceId],
  ['reversesScanId', (scan) => scan.reversesScanId ?? null],
  ['reversalReason', (scan) => scan.reversalReason ?? null],
  ['conflict', (scan) => scan.metadata.conflict ?? null],
  ['validateAsOf', (scan) => scan.metadata.validateAsOf ?? null],
  ['metadata', (scan) => JSON.stringify(scan.metadata)],
]

export const scanFormats = ['csv', 'jsonl'] as const

/** @param isContinued rows stand there already, and with them the header */
export function scansFormat(
  format: (typeof scanFormats)[number],
  { isContinued, rawCells }: { isContinued: boolean; rawCells: boolean },
): PageFormat<ScanItem> {
  return format === 'csv' ? csvFormat(csvColumns, { header: !isContinued, rawCells }) : jsonLines
}
