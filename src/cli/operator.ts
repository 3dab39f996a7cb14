import { Args, Flags } from '@oclif/core'
import { UsageError } from './command/errors.ts'
import { databaseFlags } from './settings/server-flags.ts'

/** What names jobs that were set aside: an id, or all of a workspace, or all there are. */
export const failedJobArgs = { id: Args.string({ description: 'Id of the job (passes jobs list).' }) }

/** The flags of commands for jobs that gave up. */
export const failedJobFlags = {
  ...databaseFlags,
  all: Flags.boolean({ summary: 'All that gave up or are quarantined.' }),
  workspace: Flags.string({ summary: 'With --all: those of one workspace (name or id).', dependsOn: ['all'] }),
}

interface Named {
  id: string | undefined
  workspace: string | undefined
}

/** The jobs that a command line names. @throws UsageError where it names none, or names them twice */
export function namedJobs(id: string | undefined, flags: { all?: boolean; workspace?: string | undefined }): Named {
  if ((id === undefined) !== (flags.all ?? false)) throw new UsageError('Give the id of a job, or --all.')
  return { id, workspace: flags.workspace }
}

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

/** Said where a command made its database: most likely it was meant to find one. */
export function madeDatabase(file: string): string {
  return `There was no database ${file}: it was made. Give the one that your server uses with --database (PASSES_DATABASE_URL).`
}
