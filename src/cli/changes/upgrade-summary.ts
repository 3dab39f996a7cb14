import { count, details, duration, printable } from '../command/output.ts'

export interface UpgradeSummary {
  dryRun: boolean
  /** False where the run was stopped before the end. */
  complete: boolean
  /** Null where each pass goes to the newest version of its own template. */
  version: number | null
  /** Passes that were on an older version. */
  passes: number
  /** Passes that are moved; in a dry run, that would be. */
  upgraded: number
  failed: number
  seconds: number
  failures: string | null
  /** Why passes failed, the commonest reason first. */
  reasons: { error: string; passes: number; example: string }[]
}

/** The summary for people. */
export function showUpgrade({ dryRun, version, upgraded, failed, seconds, failures }: UpgradeSummary): string {
  return details([
    ['Version', version ?? 'the newest of each template'],
    [dryRun ? 'Would move' : 'Upgraded', `${count(upgraded)} ${upgraded === 1 ? 'pass' : 'passes'}`],
    [dryRun ? 'Would fail' : 'Failed', count(failed)],
    ['Time', `${duration(seconds)} (${count(Math.round((upgraded + failed) / Math.max(seconds, 0.001)))} passes/s)`],
    ['Failures', failures],
  ])
}

/** Why passes failed, for people; empty where none did. */
export function showReasons({ reasons }: UpgradeSummary): string {
  return reasons
    .map(({ error, passes, example }) => printable(`${count(passes)} × ${error} (such as ${example})`))
    .join('\n')
}
