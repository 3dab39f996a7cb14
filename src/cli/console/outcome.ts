import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../../client/client-errors.ts'
import type { Outcome } from '../../core/rules/door/outcome.ts'
import { type BadgeWord, badgeOf } from '../../core/rules/door/outcome.ts'
import type { Decision, EngineState } from '../../door/engine/engine.ts'
import { environmentWith } from '../settings/settings.ts'

export function failureMessage(error: unknown): string {
  if (error instanceof ApiError) return rejectionText(error)
  return error instanceof Error ? error.message : String(error)
}

export function rejectionText({ status, message }: { status: number; message: string }): string {
  if (status === 401) return TOKEN_ENDED
  if (status === 403) return `The access token lacks the permission. (${message})`
  return `The server rejected the request: ${message}`
}

const TOKEN_ENDED = 'The access token is no longer valid. Ask the operator of the door.'

/** Returns the server's reason for rejecting requests for the list of passes; `null` if it accepts them. */
export function listRejectionText({ listRejection, problems }: EngineState): string | null {
  if (problems.some(({ code }) => code === 'revoked')) return TOKEN_ENDED
  return problems.some(({ code }) => code === 'offline_disabled') ? 'this workspace forbids it' : listRejection
}

/** The notice of an exit door whose zone was deleted. A notice is one line, cut off at 80 columns. */
export const EXIT_DELETED = 'Zone deleted: restart with another --zone, or without, before you scan.'

export function outcomeOf(decision: Decision, state: EngineState): Outcome {
  const { failure, isUndone, isPending, ...outcome } = decision
  const isFull = state.problems.some(({ code }) => code === 'storage_full')
  // A reversal that is not pending was decided online, because only the server decides reversals.
  if (outcome.result === 'reversal') return { ...outcome, verified: isPending ? 'offline' : 'online' }
  if (outcome.verified === 'online' && isFull) return { ...outcome, message: `${outcome.message} (not stored here)` }
  switch (failure) {
    case 'storage_full':
      return { ...outcome, message: 'Not evaluated: the decision could not be stored on this machine.' }
    case 'no_list': {
      const rejection = listRejectionText(state)
      const reason = rejection === null ? 'no list is stored' : `scanning offline is not possible (${rejection})`
      return { ...outcome, message: `No response from the server, and ${reason}. Scan again.` }
    }
    case 'not_claimed':
      return { ...outcome, message: TOKEN_ENDED }
    case 'invalid_code':
      return { ...outcome, message: 'This is not the code of a pass: it is too long or unreadable.' }
    case 'not_undone':
      return { ...outcome, message: 'This scan cannot be reversed.' }
    case 'exit_deleted':
      return { ...outcome, message: EXIT_DELETED }
    case 'failed':
      return { ...outcome, message: `Not evaluated: ${outcome.message}` }
    default:
      return outcome
  }
}

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
  not_judged: 'NOT CHECKED',
  left: 'LEFT',
  not_inside: 'NOT INSIDE',
  zone_full: 'ZONE FULL',
}

export type Bell = (outcome: Outcome) => void

/** The interval between bells, because terminals merge bells that are closer together. */
const BETWEEN_MS = 150

/** Creates a terminal bell: one ring for accepted, none for outcomes without a decision, and three otherwise. */
export function terminalBell(write: (text: string) => void): Bell {
  let newest: Outcome | undefined
  return async (outcome) => {
    newest = outcome
    const { tone } = badgeOf(outcome)
    const times = tone === 'yes' ? 1 : tone === 'note' ? 0 : 3
    for (let n = 0; n < times; n += 1) {
      if (n > 0) await sleep(BETWEEN_MS)
      // Stop after a newer outcome. Otherwise, the mixed bells of two decisions would sound like another decision.
      if (newest !== outcome) return
      write('\u0007')
    }
  }
}

/**
 * Creates a bell that runs a shell command, with yes, no, or ask in `PASSES_VERDICT`. A decision does not wait for the
 * command. The next decision stops the command.
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
