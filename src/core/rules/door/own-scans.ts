import type { LedgerReason, ScanContext } from '../../contract/scan-shapes.ts'
import type { OfflineScan } from '../../contract/scanner.ts'
import type { AcceptedScan } from '../redemption/redemption-plan.ts'

/** A decision that was made without the server, as POST /v1/scans/offline will take it, and as doors store it. */
export interface OfflineDecision {
  kind: 'verdict'
  externalRef: string
  /** The list that it was evaluated by. */
  snapshotId: string
  qrPayload?: string | undefined
  passId?: string | undefined
  /** When it was held up. */
  scannedAt: string
  /** As of which date it was evaluated, and when the scan stands for then. */
  validityDate?: string | undefined
  operationalAt?: string | undefined
  result: 'accepted' | 'denied'
  reason: LedgerReason
  scanContextKey?: string | undefined
  deviceId?: string | undefined
  context?: ScanContext | undefined
  /** The pass that was let in; what later scans are evaluated by. */
  acceptedPassId: string | null
}

/** What the server is told of a decision. */
export function reportOf({ kind, snapshotId, acceptedPassId, operationalAt, ...scan }: OfflineDecision): OfflineScan {
  return scan
}

/** An accepted scan of a pass, as the list or a door knows it. */
export interface ListedScan {
  scannedAt: string
  scanContextKey: string | null
  validityDate?: string | undefined
}

/** A scan that a door knows of itself, and the list maybe not. */
export interface OwnScan extends ListedScan {
  /** When the server recorded it; undefined while it waits for the server, null where the server refused it for good. */
  recordedAt: string | null | undefined
}

/** A scan that a door took back, by the moment that it stood for. */
export type ReversedScan = Pick<OwnScan, 'scannedAt' | 'recordedAt'>

/** What an accepted decision is to later scans of its pass. */
export function ownScanOf(decision: OfflineDecision, recordedAt: string | null | undefined): OwnScan {
  const { scannedAt, operationalAt, scanContextKey = null, validityDate } = decision
  return { scannedAt: operationalAt ?? scannedAt, scanContextKey, validityDate, recordedAt }
}

/** The list is read page by page while scans go on; what the server recorded just before may be missing in it. */
const OVERLAP_MS = 5_000

/** Whether a list of that moment holds what the server recorded then. What it refused for good stands in no list, and never will. */
export function isListed(recordedAt: string | null | undefined, generatedAt: string): boolean {
  if (recordedAt === undefined) return false
  return recordedAt === null || Date.parse(recordedAt) < Date.parse(generatedAt) - OVERLAP_MS
}

/**
 * The accepted scans of a pass, oldest first: those of a list, with what the door knows to have happened since.
 * @param own what the door accepted itself, with the server or without it
 * @param reversed what it took back
 */
export function acceptedScans(
  { listed, generatedAt }: { listed: readonly ListedScan[]; generatedAt: string },
  { own, reversed }: { own: readonly OwnScan[]; reversed: readonly ReversedScan[] },
): AcceptedScan[] {
  const isNew = ({ recordedAt }: ReversedScan) => !isListed(recordedAt, generatedAt)
  return withoutReversed(merged(listed, own.filter(isNew)), reversed.filter(isNew))
    .toSorted((a, b) => momentOf(a) - momentOf(b))
    .map(({ scannedAt, scanContextKey, validityDate = null }) => {
      return { scannedAt: new Date(scannedAt), scanContextKey, validityDate }
    })
}

/**
 * The scans of the list with those since: a moment that both know of is the same scan, as often as both know of it. As of
 * a date many scans stand for one moment.
 */
function merged(listed: readonly ListedScan[], since: readonly ListedScan[]): ListedScan[] {
  const both = countByMoment(listed)
  const unknown = since.filter((scan) => {
    const count = both.get(momentOf(scan)) ?? 0
    both.set(momentOf(scan), count - 1)
    return count <= 0
  })
  return [...listed, ...unknown]
}

/** Each reversal takes one scan of its moment. */
function withoutReversed(scans: readonly ListedScan[], reversed: readonly ReversedScan[]): ListedScan[] {
  const taken = countByMoment(reversed)
  return scans.filter((scan) => {
    const count = taken.get(momentOf(scan)) ?? 0
    taken.set(momentOf(scan), count - 1)
    return count <= 0
  })
}

function countByMoment(scans: readonly { scannedAt: string }[]): Map<number, number> {
  const counts = new Map<number, number>()
  for (const scan of scans) counts.set(momentOf(scan), (counts.get(momentOf(scan)) ?? 0) + 1)
  return counts
}

/** What tells an accepted scan of one pass from another. */
function momentOf({ scannedAt }: { scannedAt: string }): number {
  return Date.parse(scannedAt)
}
