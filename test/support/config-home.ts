import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * The configuration folder of the programs that a test file starts. It contains no profile, and is not the user's own
 * folder.
 */
export const configHome = mkdtempSync(join(tmpdir(), 'passes-config-'))
process.once('exit', () => rmSync(configHome, { recursive: true, force: true }))
