import { UsageError } from './command/cli-error.ts'

/**
 * Returns the file of the SQLite database. Backup and restore only support files.
 * @throws UsageError for PostgreSQL, with the equivalent command
 */
export function requireSqliteFile(url: string, file: string | undefined, instead: string): string {
  if (file !== undefined) return file
  if (/^postgres(ql)?:/.test(url)) {
    throw new UsageError('PostgreSQL is backed up and restored with its own tools', {
      hint: `${instead} (see docs/backup.md).`,
    })
  }
  throw new UsageError(`--database must be sqlite:FILE, not ${url}`)
}
