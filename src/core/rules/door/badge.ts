import type { LedgerReason, ScanReasonCode } from '../../contract/scan-shapes.ts'
import type { Outcome } from './outcome.ts'

/** yes lets in, no does not, ask wants a choice, note is no decision. */
export type Tone = 'yes' | 'no' | 'ask' | 'note'

/** What a door calls an outcome in a word: the reason where there is one. */
export type BadgeWord = ScanReasonCode | 'denied' | 'same_scan' | 'undone' | 'not_judged'

/** What a door calls a reason of the ledger, such as that of a conflict. */
export function wordOfReason(reason: LedgerReason): ScanReasonCode {
  switch (reason) {
    case 'already_used':
      return 'already_scanned'
    case 'wrong_project':
      return 'wrong_scope'
    case 'unverifiable':
      return 'stale_identifier'
    default:
      return reason
  }
}

/** How an outcome looks at a glance: colour, sign and word together, never colour alone. */
export interface Badge {
  tone: Tone
  sign: string
  word: BadgeWord
}

/** The colour, the sign and the word that an outcome is shown with, from an arm's length away. */
export function badgeOf({ result, reasonCode }: Pick<Outcome, 'result' | 'reasonCode'>): Badge {
  switch (result) {
    case 'accepted':
      return { tone: 'yes', sign: '✔', word: 'valid' }
    case 'ambiguous':
      return { tone: 'ask', sign: '?', word: 'multiple_matches' }
    case 'same_scan':
      return { tone: 'note', sign: '=', word: 'same_scan' }
    case 'reversal':
      return { tone: 'note', sign: '↶', word: 'undone' }
    case 'error':
      return { tone: 'ask', sign: '!', word: 'not_judged' }
    default:
      return { tone: 'no', sign: '✘', word: reasonCode ?? 'denied' }
  }
}
