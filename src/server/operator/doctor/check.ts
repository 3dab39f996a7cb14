import { SetupError } from '../../../core/errors.ts'

/** What one look found. */
export type Finding =
  | { status: 'PASSED' | 'SKIPPED'; message: string }
  /** With the command, or the setting, that mends it. */
  | { status: 'FAILED'; message: string; fix: string }

/** A finding with the place where doctor shows it. */
export type Check = { group: string; name: string } & Finding

/** The finding of a check that found nothing wrong. */
export const passed = (message: string): Finding => ({ status: 'PASSED', message })
/** The finding of a check that does not apply here. */
export const skipped = (message: string): Finding => ({ status: 'SKIPPED', message })
/** The finding of a check that found something wrong, and what mends it. */
export const failed = (message: string, fix: string): Finding => ({ status: 'FAILED', message, fix })

/** A check by its name: what it looks at, and what mends it. */
export interface Examination {
  name: string
  /** What is thrown is a failure in its own words. */
  look: () => Finding | Promise<Finding>
  /** Mends what is thrown. */
  fix: string
}

/** Takes looks one after the other, since one may need what another found. */
export async function examine(group: string, examinations: Examination[]): Promise<Check[]> {
  const checks: Check[] = []
  for (const { name, look, fix } of examinations) {
    checks.push({ group, name, ...(await safely(look, fix)) })
  }
  return checks
}

async function safely(look: Examination['look'], fix: string): Promise<Finding> {
  try {
    return await look()
  } catch (error) {
    if (error instanceof SetupError) return failed(error.message, error.fix ?? fix)
    return failed(error instanceof Error ? describe(error) : String(error), fix)
  }
}

/** A connection that was tried at several addresses has no message of its own. */
function describe(error: Error): string {
  if (error instanceof AggregateError) return error.errors.map((one: Error) => one.message).join('; ')
  return error.message || (error as NodeJS.ErrnoException).code || error.name
}
