import type { ScanReasonCode } from '../../../core/contract/scan-shapes.ts'
import type { Outcome } from '../outcome.ts'

/** yes lets in, no does not, ask wants a choice, note is no verdict. */
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
