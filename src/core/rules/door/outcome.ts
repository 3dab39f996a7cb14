import type {
  DoorGroup,
  DoorView,
  LedgerReason,
  PassSummary,
  ScanContext,
  ScanReasonCode,
  ScanResponse,
  ScanResult,
  ScanZone,
} from '../../contract/schemas/scan-shapes.ts'
import type { Direction } from '../zones/presence.ts'

export interface Station {
  projectId: string | undefined
  deviceId: string | undefined
  context: ScanContext
}

export interface Attempt {
  /** The payload as read, or `null` if a pass was selected manually. */
  payload: string | null
  passId: string | null
  /** The unique ID of the attempt. The server records an ID only once, so a retry is not a second scan. */
  externalRef: string
  at: Date
  scanContextKey: string | null
  /** The date for which the scan is evaluated, as YYYY-MM-DD. If null, `at` applies. */
  validityDate: string | null
  movement?: { zoneId: string; direction: Direction } | undefined
}

export interface Candidate {
  passId: string
  label: string
  externalPassId: string
  templateName: string | null
  /** Why the pass might be rejected, such as "void" or "already used". Empty if there is no reason. */
  standing: string
}

/** `scan --stdin` prints each outcome as one line. */
export interface Outcome {
  payload: string | null
  externalRef: string
  result: ScanResult | 'same_scan' | 'error'
  reasonCode: ScanReasonCode | null
  message: string
  /** Whether the server (online) or the door (offline) made the decision. `null` if there is no decision. */
  verified: 'online' | 'offline' | null
  scanId: string | null
  passId: string | null
  externalPassId: string | null
  label: string | null
  templateName: string | null
  /** The fields and notice for the operator, or `null` if the template defines none. */
  door: DoorView | null
  group: DoorGroup | null
  zoneId?: string | undefined
  direction?: Direction | undefined
  /**
   * The zone after the attempt. At an offline door, its occupancy is the last known value of the server, changed by the
   * later movements of the door.
   */
  zone?: ScanZone | undefined
  /** Set if the entry was denied because the zone was full. */
  isZoneFull?: true | undefined
  readAt: string
  /** The time of the scan in the ledger. If the attempt has a `validityDate`, this is a time on that date. */
  scannedAt: string
  priorScanCount: number | null
  /** The time of the last accepted scan of the pass (in the context of the attempt, if known), or `null`. */
  lastAcceptedAt: string | null
  candidates: Candidate[]
  /** The reason that the server gives if it disagrees with an uploaded offline decision; else `null`. */
  conflict: LedgerReason | null
}

export function outcomeOfResponse(attempt: Attempt, { scan, pass, zone, ...answer }: ScanResponse): Outcome {
  return {
    ...failedOutcome(attempt, answer.message),
    ...passFacts(pass),
    result: answer.result,
    reasonCode: answer.reasonCode,
    verified: 'online',
    scanId: scan.id,
    passId: pass?.id ?? null,
    group: pass?.group ?? null,
    scannedAt: scan.scannedAt,
    priorScanCount: answer.priorScanCount,
    lastAcceptedAt: pass?.contextLastAcceptedScanAt ?? pass?.lastAcceptedScanAt ?? null,
    candidates: answer.candidates.map(candidateOf),
    ...(scan.zoneId !== undefined && { zoneId: scan.zoneId, direction: scan.direction }),
    ...(zone && { zone }),
  }
}

/** Returns the pass facts that a door shows. All are null without a pass. */
export function passFacts(pass: Pick<PassSummary, 'externalPassId' | 'label' | 'templateName' | 'door'> | null) {
  const { externalPassId = null, label = null, templateName = null, door = null } = pass ?? {}
  return { externalPassId, label, templateName, door }
}

/** Returns the outcome of an attempt that was not evaluated. Such an attempt does not affect later scans. */
export function failedOutcome(attempt: Attempt, message: string): Outcome {
  return {
    payload: attempt.payload,
    externalRef: attempt.externalRef,
    result: 'error',
    reasonCode: null,
    message,
    verified: null,
    scanId: null,
    passId: attempt.passId,
    ...passFacts(null),
    group: null,
    readAt: attempt.at.toISOString(),
    scannedAt: attempt.at.toISOString(),
    priorScanCount: null,
    lastAcceptedAt: null,
    candidates: [],
    conflict: null,
    ...attempt.movement,
  }
}

/** Returns the zone of an accepted entry if the zone now exceeds its capacity, or else `undefined`. */
export function overfullZone({ result, direction, zone }: Outcome): (ScanZone & { capacity: number }) | undefined {
  if (result !== 'accepted' || direction !== 'in' || !zone || zone.capacity === null) return undefined
  return zone.inside > zone.capacity ? { ...zone, capacity: zone.capacity } : undefined
}

export function rejectedFirst<T extends Pick<Outcome, 'result'>>(outcomes: readonly T[]): T[] {
  const isIn = ({ result }: T) => result === 'accepted'
  return [...outcomes.filter((outcome) => !isIn(outcome)), ...outcomes.filter(isIn)]
}

function candidateOf(pass: PassSummary): Candidate {
  return {
    passId: pass.id,
    label: pass.label,
    externalPassId: pass.externalPassId,
    templateName: pass.templateName,
    standing: pass.contextAcceptedScanCount > 0 ? 'already used' : '',
  }
}

/** The tone of a badge: `yes` admits, `no` rejects, `ask` requires a choice, and `note` only informs. */
export type Tone = 'yes' | 'no' | 'ask' | 'note'

/** The word on the badge of an outcome: the reason, if the outcome has one. */
export type BadgeWord =
  | ScanReasonCode
  | 'denied'
  | 'same_scan'
  | 'undone'
  | 'not_judged'
  /** The word for an accepted exit. */
  | 'left'
  | 'not_inside'
  | 'zone_full'

/** The short form of an outcome: a color (`tone`), a sign, and a word. Color is never the only cue. */
export interface Badge {
  tone: Tone
  sign: string
  word: BadgeWord
}

export function badgeOf(outcome: Pick<Outcome, 'result' | 'reasonCode' | 'direction' | 'isZoneFull'>): Badge {
  const { result, reasonCode, direction, isZoneFull } = outcome
  switch (result) {
    case 'accepted':
      return { tone: 'yes', sign: '✔', word: direction === 'out' ? 'left' : 'valid' }
    case 'ambiguous':
      return { tone: 'ask', sign: '?', word: 'multiple_matches' }
    case 'same_scan':
      return { tone: 'note', sign: '=', word: 'same_scan' }
    case 'reversal':
      return { tone: 'note', sign: '↶', word: 'undone' }
    case 'error':
      return { tone: 'ask', sign: '!', word: 'not_judged' }
    default:
      if (isZoneFull) return { tone: 'no', sign: '✘', word: 'zone_full' }
      if (direction === 'out' && reasonCode === 'not_valid_context')
        return { tone: 'no', sign: '✘', word: 'not_inside' }
      return { tone: 'no', sign: '✘', word: reasonCode ?? 'denied' }
  }
}
