import { closeSync, existsSync, rmSync, writeSync } from 'node:fs'
import { openPrivateSync } from '../../files/private-file.ts'

/**
 * A file beside a damaged SQLite database says so to the next start: until that has checked the whole database, nothing is
 * to be written. A check reads all of it, so it is made only where there is a reason.
 */

export const DAMAGE_SUFFIX = '-damaged'

export function noteDamage(file: string): void {
  try {
    const note = openPrivateSync(`${file}${DAMAGE_SUFFIX}`, 'a')
    writeSync(note, 'SQLite found this database damaged. See docs/backup.md.\n')
    closeSync(note)
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
