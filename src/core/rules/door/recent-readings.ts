import { type DoorLanguage, doorEnglish, repeatMessage } from '../redemption/scan-message.ts'
import { type Attempt, failedOutcome, type Outcome } from './outcome.ts'

/**
 * The period after a failed attempt, in milliseconds, in which a new reading of the code reuses the externalRef of the
 * attempt. This prevents a second scan if the server has already recorded the attempt.
 */
const UNRESOLVED_MS = 10 * 60_000

interface Reading {
  attempt: Attempt
  outcome: Outcome | null
}

/**
 * Creates a memory of recent readings, which prevents two quick readings of a code from becoming two scans.
 * @param sameScanMs the period, in milliseconds, during which a second reading of a code is not a new scan
 * @param language is called for each repeated reading, and returns the language of its message
 */
export function createRecentScans(sameScanMs: number, language: () => DoorLanguage = () => doorEnglish) {
  const readings = new Map<string, Reading>()

  function forgetOld(now: number): void {
    for (const [key, { attempt, outcome }] of readings) {
      const keptMs = outcome?.result === 'error' ? UNRESOLVED_MS : sameScanMs
      if (now - attempt.at.getTime() >= keptMs) readings.delete(key)
    }
  }

  return {
    /** Returns the attempt to evaluate. If it repeats a recent reading, returns the outcome of this reading instead. */
    take(attempt: Attempt): Attempt | { same: Outcome } {
      forgetOld(attempt.at.getTime())
      const key = keyOf(attempt)
      const last = readings.get(key)
      const found = last && isSameMovement(last.attempt, attempt) ? last : undefined
      const isSame = found && attempt.at.getTime() - found.attempt.at.getTime() < sameScanMs
      const isOpen = found?.outcome?.result === 'error'
      if (isSame && !isOpen) return { same: sameAs(found, attempt, language()) }
      const named = isOpen ? { ...attempt, externalRef: found!.attempt.externalRef } : attempt
      readings.set(key, { attempt: named, outcome: null })
      return named
    },
    resolve(attempt: Attempt, outcome: Outcome): void {
      const found = readings.get(keyOf(attempt))
      if (found?.attempt.externalRef === attempt.externalRef) found.outcome = outcome
    },
    /** Forgets a reading after its reversal. The next reading of the code is then a new scan. */
    forget(outcome: Outcome): void {
      for (const [key, found] of readings) {
        if (found.attempt.externalRef === outcome.externalRef) readings.delete(key)
      }
    },
  }
}

/** Returns the key of a reading. A code that is read again for another context or date is a new scan. */
function keyOf({ payload, scanContextKey, validityDate }: Attempt): string {
  return JSON.stringify([payload, scanContextKey, validityDate])
}

/** Whether two attempts have the same zone and direction, or both have none. If not, the second is a new scan. */
function isSameMovement({ movement: a }: Attempt, { movement: b }: Attempt): boolean {
  return a?.zoneId === b?.zoneId && a?.direction === b?.direction
}

function sameAs({ attempt, outcome }: Reading, again: Attempt, language: DoorLanguage): Outcome {
  const first = outcome ?? failedOutcome(attempt, language.words.inProgress)
  const seconds = Math.max(1, Math.round((again.at.getTime() - attempt.at.getTime()) / 1000))
  return {
    ...first,
    result: 'same_scan',
    readAt: again.at.toISOString(),
    message: repeatMessage(seconds, first.message, language),
  }
}
