import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Where programs of a test file find no profile, and keep what they keep for one: nobody's own folder. */
export const configHome = mkdtempSync(join(tmpdir(), 'passes-config-'))
process.once('exit', () => rmSync(configHome, { recursive: true, force: true }))
