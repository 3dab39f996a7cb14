import type { BadgeWord } from '../../core/rules/door/badge.ts'
import type { ClaimFailure, Problem, ScanFailure } from '../engine/engine.ts'
import type { CameraProblem } from './camera/camera.ts'

/**
 * What the page of the door says in one language. What stands in braces is filled in; a text that ends in a number or a name
 * after a colon is so because languages count differently. Reasons of decisions are sentences of DoorWords.
 */
export interface AppWords {
  /** The page, and the phone that shows it. */
  door: string
  claim: {
    title: string
    /** That the camera is asked for next, and that its pictures stay on the phone. */
    hint: string
    phoneName: string
    /** Proposed, with a number behind it. */
    phone: string
    submit: string
    /** Where the page was opened without an invitation. */
    noCode: string
    code: string
    failures: Record<ClaimFailure['code'], string>
  }
  start: string
  /** What to do, where nothing is shown. */
  ready: string
  /** While a verdict is waited for. */
  checking: string
  /** One or two short words, in capitals where the script has them. */
  verdicts: Record<BadgeWord, string>
  failures: Record<ScanFailure, string>
  next: string
  /** The button to the part of a decision that does not fit on the screen. */
  more: string
  undo: string
  /** `{name}` of who was let in. */
  undoQuestion: string
  keep: string
  /** `{used}` of `{size}`: of a group. */
  group: string
  /** `{count}` of a group that are not in yet. */
  letInAll: string
  /** `{count}` of them, asked before all others of a group are let in. */
  letInAllQuestion: string
  letInOthers: string
  search: string
  searchField: string
  check: string
  nobody: string
  overview: string
  accepted: string
  turnedAway: string
  gates: string
  gate: string
  changeGate: string
  save: string
  recent: string
  /** Decisions that are only on this phone: `{count}`. */
  pending: string
  /** `{count}` passes, as of `{age}`, such as "5 minutes ago". */
  list: string
  loading: string
  noList: string
  online: string
  /** Since `{time}`. */
  offline: string
  connecting: string
  /** The mark of a decision that the phone made without the server. */
  checkedOffline: string
  /** The server would have decided otherwise: `{reason}`. */
  conflict: string
  light: string
  zoom: string
  lock: string
  unlock: string
  close: string
  tryAgain: string
  done: string
  /** Ends the door on this phone. */
  leave: string
  leaveQuestion: string
  /** That the browser may delete what is stored, and what helps. */
  notPersistent: string
  /** Where the page did not come by https. */
  insecure: string
  camera: Record<CameraProblem, string>
  /** `{pending}`, `{scans}`, `{message}` and `{time}` as the problem has them. */
  problems: Record<Problem['code'], string>
}
