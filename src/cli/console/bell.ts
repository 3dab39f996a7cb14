import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { environmentWith } from '../settings/settings.ts'
import type { Outcome } from './outcome.ts'
import { badgeOf } from './screen/badge.ts'

/** Tells ears what became of a scan. */
export type Bell = (outcome: Outcome) => void

/** Nearer together, terminals make one of them. */
const BETWEEN_MS = 150

/** One for yes, three for no, none for what is no verdict. */
export function terminalBell(write: (text: string) => void): Bell {
  let newest: Outcome | undefined
  return async (outcome) => {
    newest = outcome
    const { tone } = badgeOf(outcome)
    const times = tone === 'yes' ? 1 : tone === 'note' ? 0 : 3
    for (let n = 0; n < times; n += 1) {
      if (n > 0) await sleep(BETWEEN_MS)
      // The bells of two verdicts would sound like a third.
      if (newest !== outcome) return
      write('\u0007')
    }
  }
}

/**
 * Runs a command of the user's shell instead, which finds yes, no or ask in PASSES_VERDICT. No verdict waits for it, and
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

export const silence: Bell = () => undefined
