import type { Platform } from '../../../core/contract/schemas/platform.ts'
import { SetupError } from '../../../core/errors.ts'
import type { Config } from '../../config.ts'
import { setups } from '../../platforms/deliveries.ts'

type Result<Fix> = { status: 'PASSED' | 'SKIPPED'; message: string } | ({ status: 'FAILED'; message: string } & Fix)

export type Check = { group: string; name: string } & Result<{ fix: string }>

export type Finding = Result<{ fix?: string | undefined }>

export const passed = (message: string): Finding => ({ status: 'PASSED', message })
export const skipped = (message: string): Finding => ({ status: 'SKIPPED', message })
/** @param fix default: the fix of the examination */
export const failed = (message: string, fix?: string): Finding => ({ status: 'FAILED', message, fix })

export interface Examination<Facts> {
  /** The fix to show if the finding or the thrown error contains no fix. */
  fix: string
  /** Returns the finding. A thrown error becomes a failed finding with the message of the error. */
  check: (facts: Facts) => Finding | Promise<Finding>
}

/**
 * Runs checks in order, because a check can use earlier results.
 * @param facts returns the input of the checks, or a reason to skip them
 */
export async function examine<Facts = undefined>(
  group: string,
  all: Record<string, Examination<Facts>>,
  facts: () => Facts | string = () => undefined as Facts,
): Promise<Check[]> {
  const checks: Check[] = []
  for (const [name, { fix, check }] of Object.entries(all)) {
    const known = facts()
    const found = typeof known === 'string' ? skipped(known) : await runCheck(async () => check(known))
    checks.push({ group, name, ...(found.status === 'FAILED' ? { ...found, fix: found.fix ?? fix } : found) })
  }
  return checks
}

async function runCheck(check: () => Promise<Finding>): Promise<Finding> {
  try {
    return await check()
  } catch (error) {
    if (error instanceof SetupError) return failed(error.message, error.fix)
    return failed(error instanceof Error ? describe(error) : String(error))
  }
}

/** Returns the message of an error. If several addresses were tried, only the error of each attempt has a message. */
function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: Error) => one.message).join('; ')
  return error.message || (error as NodeJS.ErrnoException).code || error.name
}

/** Returns the reason to skip the checks of a platform; undefined if the flags contain its credentials. */
export function reasonToSkip(config: Config, platform: Platform): string | undefined {
  if (!config.platforms.includes(platform)) return `${platform} is not among --platforms`
  const { hasCredentials, inSandbox } = setups[platform]
  return hasCredentials(config) ? undefined : `${platform} runs in the sandbox: ${inSandbox}`
}
