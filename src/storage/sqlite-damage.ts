import { existsSync, rmSync, writeFileSync } from 'node:fs'

/**
 * A file beside a damaged SQLite database says so to the next start: until that has checked the whole database, nothing is
 * to be written. A check reads all of it, so it is made only where there is a reason.
 */

export const DAMAGE_SUFFIX = '-damaged'

export function noteDamage(file: string): void {
  try {
    writeFileSync(`${file}${DAMAGE_SUFFIX}`, 'SQLite found this database damaged. See docs/backup.md.\n', { flag: 'a' })
  } catch {
    // Where the folder cannot be written, this process refuses all the same, and the next one finds out by itself.
  }
}

/**
 * Checks a database that was found damaged, and takes the note away where it is sound.
 * @returns what is wrong with it; undefined where nothing is, or nothing was noted
 */
export async function clearDamage(
  file: string,
  findFault: (file: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  if (!existsSync(`${file}${DAMAGE_SUFFIX}`)) return undefined
  const fault = await findFault(file)
  if (fault === undefined) rmSync(`${file}${DAMAGE_SUFFIX}`, { force: true })
  return fault
}
