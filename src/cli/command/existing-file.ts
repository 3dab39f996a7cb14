import { statSync } from 'node:fs'
import { Flags } from '@oclif/core'
import { CliError } from './cli-error.ts'

/** The flag of commands that write files, for `requireReplaceable`. */
export const forceFlag = Flags.boolean({ summary: 'Replace an existing file.', default: false })

/**
 * Requires `force` to replace a file that is not empty. Accepts a device such as /dev/null, which has no content to
 * lose, and a missing path.
 * @throws CliError
 */
export function requireReplaceable(path: string | undefined, force: boolean): void {
  if (force || path === undefined) return
  const found = statSync(path, { throwIfNoEntry: false })
  if (found?.isFile() && found.size > 0) throw existingFile(path)
}

export function existingFile(path: string): CliError {
  return new CliError(`${path} already exists; --force replaces it.`, { code: 'FILE_EXISTS' })
}
