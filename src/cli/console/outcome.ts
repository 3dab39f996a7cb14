import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/errors.ts'
import { type BadgeWord, badgeOf } from '../../core/rules/door/badge.ts'
import type { Outcome } from '../../core/rules/door/outcome.ts'
import { environmentWith } from '../settings/settings.ts'

/** Returns an error message for the operator. */
export function failureMessage(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  if (error.status === 401) return 'The access token is not valid any more. Ask who runs the door.'
  if (error.status === 403) return `The access token may not do that. (${error.message})`
  return `The server refused: ${error.message}`
}

/** Badge texts of the console. */
export const badgeWords: Record<BadgeWord, string> = {
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
  denied: 'DENIED',
  same_scan: 'SAME SCAN',
  undone: 'UNDONE',
  not_judged: 'NOT JUDGED',
}

/** Plays a sound for an outcome. */
export type Bell = (outcome: Outcome) => void

/** The interval between bells. Terminals merge bells that are closer together. */
const BETWEEN_MS = 150

/** Creates a terminal bell: one for accepted, none for outcomes without a decision, three otherwise. */
export function terminalBell(write: (text: string) => void): Bell {
  let newest: Outcome | undefined
  return async (outcome) => {
    newest = outcome
    const { tone } = badgeOf(outcome)
    const times = tone === 'yes' ? 1 : tone === 'note' ? 0 : 3
    for (let n = 0; n < times; n += 1) {
      if (n > 0) await sleep(BETWEEN_MS)
      // Do not mix the bells of two decisions, which would sound like a third.
      if (newest !== outcome) return
      write('\u0007')
    }
  }
}

/**
 * Creates a bell that runs a shell command, with yes, no, or ask in `PASSES_VERDICT`. Decisions do not wait for it,
 * and the next one stops it.
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

export const silentBell: Bell = () => undefined
