import type { OfflineScan, SnapshotItem } from '../../contract/scans/scanner.ts'
import type { AcceptedScan } from '../redemption/use-record.ts'
import type { Direction } from '../zones/presence.ts'

/** An offline decision as a door stores it. */
export interface OfflineDecision extends OfflineScan {
  kind: 'verdict'
  snapshotId: string
  /** The time on `validityDate` at which the scan counts, instead of `scannedAt`. Omitted without a `validityDate`. */
  operationalAt?: string | undefined
  /** The ID of the admitted pass, or `null` if no pass was admitted. The evaluation of later scans needs it. */
  acceptedPassId: string | null
  /** Whether the scan is an entry into a zone that debited no use. */
  isReentry?: boolean | undefined
}

/** Returns the part of a decision that is uploaded to the server. */
export function reportOf({
  kind,
  snapshotId,
  acceptedPassId,
  operationalAt,
  isReentry,
  ...scan
}: OfflineDecision): OfflineScan {
  return scan
}

export interface OwnMovement {
  zoneId: string
  direction: Direction
  /** The real time of the scan, even if the scan has a validity date. */
  at: string
  isReentry: boolean
}

/** An accepted scan in a snapshot. */
export type ListedScan = SnapshotItem['acceptedScans'][number]

/** A scan of this door. The current snapshot might not contain the scan yet. */
export interface OwnScan extends ListedScan {
  /**
   * The time when the server recorded the scan. `undefined` before the upload, and `null` if the server permanently
   * rejected the scan.
   */
  recordedAt: string | null | undefined
  /** Set if the scan was a movement in a zone. Exits and re-entries debit no use. */
  movement?: OwnMovement | undefined
}

/** A scan that was reversed. `scannedAt` identifies the scan, and `movement.at` identifies its movement. */
export type ReversedScan = Pick<OwnScan, 'scannedAt' | 'recordedAt' | 'movement'>

/** Returns the scan of an accepted decision. The evaluation of later scans of the pass takes it into account. */
export function ownScanOf(decision: OfflineDecision): OwnScan {
  const {
    scannedAt,
    operationalAt,
    scanContextKey = null,
    validityDate,
    zoneId,
    direction = 'in',
    isReentry,
  } = decision
  const movement =
    zoneId === undefined ? undefined : { zoneId, direction, at: scannedAt, isReentry: isReentry ?? false }
  return {
    scannedAt: operationalAt ?? scannedAt,
    scanContextKey,
    validityDate,
    recordedAt: undefined,
    ...(movement && { movement }),
  }
}

/**
 * A snapshot can lack scans that were recorded within this period, in milliseconds, before its generation, because the
 * server generates it page by page while scans continue.
 */
const OVERLAP_MS = 5_000

/** Whether a snapshot surely contains a scan. True for a rejected scan (`null`), so that this scan no longer counts. */
export function isListed(recordedAt: string | null | undefined, generatedAt: string): boolean {
  if (recordedAt === undefined) return false
  return recordedAt === null || Date.parse(recordedAt) < Date.parse(generatedAt) - OVERLAP_MS
}

/**
 * Returns the accepted scans of a pass, oldest first: those in a snapshot, updated by later actions of the door.
 * @param own scans that the door accepted, online or offline
 * @param reversed scans that the door reversed
 */
export function acceptedScans(
  { listed, generatedAt }: { listed: readonly ListedScan[]; generatedAt: string },
  { own, reversed }: { own: readonly OwnScan[]; reversed: readonly ReversedScan[] },
): AcceptedScan[] {
  const isNew = ({ recordedAt }: ReversedScan) => !isListed(recordedAt, generatedAt)
  const uses = own.filter(isUse).filter(isNew)
  return withoutAll([...listed, ...withoutAll(uses, listed)], reversed.filter(isUse).filter(isNew))
    .toSorted((a, b) => momentOf(a) - momentOf(b))
    .map(({ scannedAt, scanContextKey, validityDate = null }) => {
      return { scannedAt: new Date(scannedAt), scanContextKey, validityDate }
    })
}

function isUse({ movement }: ReversedScan): boolean {
  return !movement || (movement.direction === 'in' && !movement.isReentry)
}

/** Returns the number of accepted uses that the door has neither uploaded nor reversed. */
export function countUnsentUses(own: readonly OwnScan[], reversed: readonly ReversedScan[]): number {
  const isUnsent = (scan: ReversedScan) => scan.recordedAt === undefined && isUse(scan)
  return Math.max(0, own.filter(isUnsent).length - reversed.filter(isUnsent).length)
}

/**
 * Returns the scans that are not in another list. Each scan of the other list removes one scan with the same time,
 * because several scans with a validity date can have the same time.
 */
function withoutAll(scans: readonly ListedScan[], others: readonly { scannedAt: string }[]): ListedScan[] {
  const counts = new Map<number, number>()
  for (const other of others) counts.set(momentOf(other), (counts.get(momentOf(other)) ?? 0) + 1)
  return scans.filter((scan) => {
    const count = counts.get(momentOf(scan)) ?? 0
    counts.set(momentOf(scan), count - 1)
    return count <= 0
  })
}

/** Returns the time by which the scans of a pass are distinguished. */
function momentOf({ scannedAt }: { scannedAt: string }): number {
  return Date.parse(scannedAt)
}
