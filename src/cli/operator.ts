import { Args, Flags } from '@oclif/core'
import { UsageError } from './command/cli-error.ts'
import { databaseFlags } from './settings/server-flags.ts'

/** The argument for a discarded or quarantined job. */
export const failedJobArgs = { id: Args.string({ description: 'ID of the job (passes jobs list).' }) }

/** The flags of commands for discarded and quarantined jobs. */
export const failedJobFlags = {
  ...databaseFlags,
  all: Flags.boolean({ summary: 'All failed or quarantined jobs.' }),
  workspace: Flags.string({ summary: 'With --all: only one workspace (name or ID).', dependsOn: ['all'] }),
}

interface Named {
  id: string | undefined
  workspace: string | undefined
}

/** Returns the selected jobs. @throws UsageError unless either an id or `--all` is given */
export function namedJobs(id: string | undefined, flags: { all?: boolean; workspace?: string | undefined }): Named {
  if ((id === undefined) !== (flags.all ?? false)) throw new UsageError('Give the ID of a job, or --all.')
  return { id, workspace: flags.workspace }
}

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

/** Returns the message for a command that created its database, which is probably a mistyped path. */
export function madeDatabase(file: string): string {
  return (
    `The database ${file} did not exist and was created. Select the database of your server with --database ` +
    '(PASSES_DATABASE_URL).'
  )
}
