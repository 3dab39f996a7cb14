import { Args, Flags } from '@oclif/core'
import { UsageError } from '../command/errors.ts'
import { databaseFlags } from '../settings/server-flags.ts'

/** What names jobs that were set aside: an id, or all of a workspace, or all there are. */
export const failedJobArgs = { id: Args.string({ description: 'Id of the job (passes jobs list).' }) }

export const failedJobFlags = {
  ...databaseFlags,
  all: Flags.boolean({ summary: 'All that gave up or are quarantined.' }),
  workspace: Flags.string({ summary: 'With --all: those of one workspace (name or id).', dependsOn: ['all'] }),
}

interface Named {
  id: string | undefined
  workspace: string | undefined
}

/** @throws UsageError where the command line names no jobs, or names them twice */
export function namedJobs(id: string | undefined, flags: { all?: boolean; workspace?: string | undefined }): Named {
  if ((id === undefined) !== (flags.all ?? false)) throw new UsageError('Give the id of a job, or --all.')
  return { id, workspace: flags.workspace }
}
