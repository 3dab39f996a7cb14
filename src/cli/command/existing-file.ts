import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { CliError, UsageError } from './cli-error.ts'

/** The flag of commands that write files, for `requireReplaceable`. */
export const forceFlag = Flags.boolean({ summary: 'Replace an existing file.', default: false })

/**
 * Requires `force` to replace a file that is not empty, and never accepts a database. Accepts a device such as
 * /dev/null, which has no content to lose, and a missing path.
 * @throws CliError
 */
export function requireReplaceable(path: string | undefined, force: boolean): void {
  const found = path === undefined ? undefined : statSync(path, { throwIfNoEntry: false })
  if (path === undefined || !found?.isFile() || found.size === 0) return
  if (isDatabase(path)) throw new UsageError(`${path} is a database, which this command does not replace`)
  if (!force) throw existingFile(path)
}

function isDatabase(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const start = Buffer.alloc(SQLITE_START.length)
    readSync(file, start)
    return start.toString('latin1') === SQLITE_START
  } finally {
    closeSync(file)
  }
}

const SQLITE_START = 'SQLite format 3\0'

export function existingFile(path: string): CliError {
  return new CliError(`${path} already exists; --force replaces it.`, { code: 'FILE_EXISTS' })
}
