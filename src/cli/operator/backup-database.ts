import { UsageError } from '../command/errors.ts'

/**
 * The file of the SQLite database that a flag names: files are what backup and restore are about.
 * @throws UsageError for a PostgreSQL server, with the command that does it there
 */
export function requireSqliteFile(url: string, file: string | undefined, instead: string): string {
  if (file !== undefined) return file
  if (/^postgres(ql)?:/.test(url)) {
    throw new UsageError('PostgreSQL is backed up and restored with its own tools', {
      hint: `${instead} (docs/backup.md tells the rest).`,
    })
  }
  throw new UsageError(`--database must be sqlite:FILE, and is ${url}`)
}
