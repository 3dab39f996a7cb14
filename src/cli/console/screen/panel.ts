import type { Overrides } from '../door.ts'
import type { Candidate, Outcome } from '../outcome.ts'

/** What the lower half of the screen is used for; null shows the last scans. */
export type Panel =
  | null
  | { kind: 'search' }
  /** Passes to choose from; the chosen one is scanned by its id. `of` names the ambiguous scan, where it was one. */
  | { kind: 'choose'; title: string; candidates: Candidate[]; selected: number; of: string | null }
  | { kind: 'undo'; scan: Outcome }
  | { kind: 'override'; field: keyof Overrides }
