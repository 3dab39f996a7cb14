import type {
  DoorGroup,
  DoorView,
  LedgerReason,
  PassSummary,
  ScanContext,
  ScanReasonCode,
  ScanResponse,
  ScanResult,
} from '../../contract/scan-shapes.ts'

/** What is said of every scan of a door. */
export interface Station {
  projectId: string | undefined
  deviceId: string | undefined
  context: ScanContext
}

/** What somebody holds up, and what was asked for at that moment. */
export interface Attempt {
  /** The payload as it was read; null where a pass was chosen by hand. */
  payload: string | null
  passId: string | null
  /** One for each scan, whatever becomes of it: the server records it once. */
  externalRef: string
  at: Date
  scanContextKey: string | null
  /** YYYY-MM-DD. */
  validityDate: string | null
}

/** A pass as the operator may choose it. */
export interface Candidate {
  passId: string
  label: string
  externalPassId: string
  templateName: string | null
  /** A word on how it stands, such as its status. */
  standing: string
}

/** What became of an attempt; one line of `scan --stdin`. */
export interface Outcome {
  payload: string | null
  externalRef: string
  result: ScanResult | 'same_scan' | 'error'
  reasonCode: ScanReasonCode | null
  /** What to tell the operator. */
  message: string
  /** Who decided; null where nobody did. */
  verified: 'online' | 'offline' | null
  scanId: string | null
  passId: string | null
  externalPassId: string | null
  label: string | null
  templateName: string | null
  /** What the template wants the operator to see; null where it says nothing. */
  door: DoorView | null
  /** How far the group of the pass has been let in; null where it is in none. */
  group: DoorGroup | null
  /** When it was held up. */
  readAt: string
  /** When it stands in the ledger for: another day, with a date override. */
  scannedAt: string
  priorScanCount: number | null
  /** The newest accepted scan of the pass in this context, where the answer says so. */
  lastAcceptedAt: string | null
  candidates: Candidate[]
  /** Why the server would have decided otherwise, once it has been told what was decided without it. */
  conflict: LedgerReason | null
}

/** What a door shows of the server's decision. */
export function outcomeOfResponse(
  attempt: Pick<Attempt, 'payload' | 'externalRef' | 'at'>,
  answer: ScanResponse,
): Outcome {
  return {
    payload: attempt.payload,
    externalRef: attempt.externalRef,
    result: answer.result,
    reasonCode: answer.reasonCode,
    message: answer.message,
    verified: 'online',
    scanId: answer.scan.id,
    passId: answer.pass?.id ?? null,
    externalPassId: answer.pass?.externalPassId ?? null,
    label: answer.pass?.label ?? null,
    templateName: answer.pass?.templateName ?? null,
    door: answer.pass?.door ?? null,
    group: answer.pass?.group ?? null,
    readAt: attempt.at.toISOString(),
    scannedAt: answer.scan.scannedAt,
    priorScanCount: answer.priorScanCount,
    lastAcceptedAt: answer.pass?.contextLastAcceptedScanAt ?? answer.pass?.lastAcceptedScanAt ?? null,
    candidates: answer.candidates.map(candidateOf),
    conflict: null,
  }
}

/** Nobody evaluated it: the next scan goes on as if nothing had been. */
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
    externalPassId: null,
    label: null,
    templateName: null,
    door: null,
    group: null,
    readAt: attempt.at.toISOString(),
    scannedAt: attempt.at.toISOString(),
    priorScanCount: null,
    lastAcceptedAt: null,
    candidates: [],
    conflict: null,
  }
}

/** Returns the outcomes of members of a group in the order in which a door shows them: rejected ones first. */
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
