import type { ScanReasonCode } from '../../contract/scan-shapes.ts'
import type { Outcome } from './outcome.ts'

/** `yes` admits, `no` rejects, `ask` needs a choice, and `note` is not a decision. */
export type Tone = 'yes' | 'no' | 'ask' | 'note'

/** The word that a door shows for an outcome: the reason, if there is one. */
export type BadgeWord = ScanReasonCode | 'denied' | 'same_scan' | 'undone' | 'not_judged'

/** The appearance of an outcome at a glance: color, sign, and word together, never color alone. */
export interface Badge {
  tone: Tone
  sign: string
  word: BadgeWord
}

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
