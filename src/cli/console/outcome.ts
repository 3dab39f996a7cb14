import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/errors.ts'
import type {
  DoorGroup,
  DoorView,
  LedgerReason,
  PassSummary,
  ScanContext,
  ScanReasonCode,
  ScanResponse,
  ScanResult,
} from '../../core/contract/scan-shapes.ts'
import { environmentWith } from '../settings/settings.ts'

/** What is said of every scan of a console. */
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

/** What the console shows of the server's decision. */
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

/** An error in the words of an operator. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  if (error.status === 401) return 'The access token is not valid any more. Ask who runs the door.'
  if (error.status === 403) return `The access token may not do that. (${error.message})`
  return `The server refused: ${error.message}`
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

/** yes lets in, no does not, ask wants a choice, note is no decision. */
export type Tone = 'yes' | 'no' | 'ask' | 'note'

/** How an outcome looks at a glance: colour, sign and word together, never colour alone. */
export interface Badge {
  tone: Tone
  sign: string
  word: string
}

const words: Record<ScanReasonCode, string> = {
  valid: 'ACCEPTED',
  already_scanned: 'ALREADY USED',
  stale_identifier: 'OLD CODE',
  not_active: 'NOT ACTIVE',
  expired: 'EXPIRED',
  revoked: 'VOIDED',
  wrong_scope: 'WRONG PROJECT',
  not_valid_context: 'WRONG DATE',
  out_of_window: 'WRONG TIME',
  quota_exhausted: 'USED UP',
  cooldown: 'TOO SOON',
  no_match: 'UNKNOWN',
  multiple_matches: 'WHICH ONE?',
}

/** The colour, the sign and the word that an outcome is shown with, from an arm's length away. */
export function badgeOf({ result, reasonCode }: Pick<Outcome, 'result' | 'reasonCode'>): Badge {
  switch (result) {
    case 'accepted':
      return { tone: 'yes', sign: '✔', word: words.valid }
    case 'ambiguous':
      return { tone: 'ask', sign: '?', word: words.multiple_matches }
    case 'same_scan':
      return { tone: 'note', sign: '=', word: 'SAME SCAN' }
    case 'reversal':
      return { tone: 'note', sign: '↶', word: 'UNDONE' }
    case 'error':
      return { tone: 'ask', sign: '!', word: 'NOT JUDGED' }
    default:
      return { tone: 'no', sign: '✘', word: reasonCode === null ? 'DENIED' : words[reasonCode] }
  }
}

/** Tells ears what became of a scan. */
export type Bell = (outcome: Outcome) => void

/** Nearer together, terminals make one of them. */
const BETWEEN_MS = 150

/** One for yes, three for no, none for what is no decision. */
export function terminalBell(write: (text: string) => void): Bell {
  let newest: Outcome | undefined
  return async (outcome) => {
    newest = outcome
    const { tone } = badgeOf(outcome)
    const times = tone === 'yes' ? 1 : tone === 'note' ? 0 : 3
    for (let n = 0; n < times; n += 1) {
      if (n > 0) await sleep(BETWEEN_MS)
      // The bells of two decisions would sound like a third.
      if (newest !== outcome) return
      write('\u0007')
    }
  }
}

/**
 * Runs a command of the user's shell instead, which finds yes, no or ask in PASSES_VERDICT. No decision waits for it, and
 * the next one ends it.
 */
export function commandBell(command: string, onProblem: (message: string) => void): Bell {
  let child: ChildProcess | undefined
  return (outcome) => {
    const { tone } = badgeOf(outcome)
    if (tone === 'note') return
    child?.kill()
    child = spawn(command, { shell: true, stdio: 'ignore', env: environmentWith({ PASSES_VERDICT: tone }) })
    child.unref()
    child.on('error', (error) => onProblem(`--sound: ${error.message}`))
    child.on('exit', (code) => code && onProblem(`--sound: the command ended with ${code}`))
  }
}

/** The bell of a console that makes no sound. */
export const silentBell: Bell = () => undefined
