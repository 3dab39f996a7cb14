import type { ScanItem } from '../../core/contract/scan-shapes.ts'
import { jsonLines, type PageFormat } from '../arguments/list.ts'
import { csvOf } from '../list/csv.ts'
import type { ListShape } from '../list/shape.ts'
import type { HeldScan } from './holders.ts'

/** What became of a scan, in a word: the reason says more than that it was denied. */
function verdictOf({ result, reason }: ScanItem): string {
  return result === 'denied' && reason ? reason : result
}

const CSV = [
  'id',
  'result',
  'reason',
  'verified',
  'passId',
  'externalPassId',
  'projectId',
  'scannedAt',
  'recordedAt',
  'deviceId',
  'reversesScanId',
  'reversalReason',
  'conflict',
  'validateAsOf',
  'metadata',
  'label',
]

export const scansShape: ListShape<HeldScan> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'verdict', value: verdictOf },
    { name: 'result', value: ({ result }) => result },
    { name: 'reason', value: ({ reason }) => reason },
    { name: 'verified', value: ({ verified }) => verified },
    { name: 'passId', value: ({ passId }) => passId, kind: 'id' },
    { name: 'externalPassId', value: ({ externalPassId }) => externalPassId, title: 'pass', none: 'none' },
    { name: 'projectId', value: ({ projectId }) => projectId, kind: 'id', title: 'project' },
    { name: 'scannedAt', value: ({ scannedAt }) => scannedAt, kind: 'time', title: 'scanned' },
    { name: 'recordedAt', value: ({ recordedAt }) => recordedAt, kind: 'time', title: 'recorded' },
    { name: 'deviceId', value: ({ deviceId }) => deviceId, title: 'device' },
    { name: 'reversesScanId', value: (scan) => scan.reversesScanId ?? null, whole: true },
    { name: 'reversalReason', value: (scan) => scan.reversalReason ?? null },
    { name: 'conflict', value: ({ metadata }) => metadata.conflict ?? null },
    { name: 'validateAsOf', value: ({ metadata }) => metadata.validateAsOf ?? null },
    { name: 'metadata', value: ({ metadata }) => JSON.stringify(metadata) },
    { name: 'label', value: ({ label }) => label, title: 'holder' },
    { name: 'gate', value: ({ metadata }) => metadata.gate ?? null },
    {
      name: 'verification',
      value: ({ verified, metadata }) => (metadata.conflict ? `${verified}, conflict` : verified),
      title: 'verified',
    },
  ],
  table: ['id', 'scannedAt', 'verdict', 'label', 'externalPassId'],
  wide: ['id', 'scannedAt', 'verdict', 'label', 'externalPassId', 'deviceId', 'verification'],
  csv: CSV,
}

export const scanFormats = ['csv', 'jsonl'] as const

/** @param isContinued rows stand there already, and with them the header */
export function scansFormat(
  format: (typeof scanFormats)[number],
  { isContinued, rawCells }: { isContinued: boolean; rawCells: boolean },
): PageFormat<HeldScan> {
  return format === 'csv' ? csvOf(scansShape, { header: !isContinued, rawCells }) : jsonLines
}
