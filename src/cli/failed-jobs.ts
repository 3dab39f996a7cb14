import { Args, Flags } from '@oclif/core'
import type { FailedJobFilter } from '../storage/backlog.ts'
import type { Store } from '../storage/store.ts'
import { UsageError } from './errors.ts'
import { databaseFlags } from './server-flags.ts'

/** What names jobs that were set aside: an id, or all of a workspace, or all there are. */
export const failedJobArgs = { id: Args.string({ description: 'Id of the job (passes jobs list).' }) }

export const failedJobFlags = {
  ...databaseFlags,
  all: Flags.boolean({ summary: 'All that gave up or are quarantined.' }),
  workspace: Flags.string({ summary: 'With --all: those of one workspace (name or id).', dependsOn: ['all'] }),
}

interface Named {
  id: string | undefined
  flags: { database: string; all?: boolean; workspace?: string | undefined }
}

/**
 * Does something with the jobs that the command line names.
 * @param work returns how many jobs there were
 * @throws UsageError where it names none, OperatorError where the job is not one that was set aside
 */
export async function withFailedJobs(
  { id, flags }: Named,
  work: (store: Store, filter: FailedJobFilter) => Promise<number>,
): Promise<number> {
  if ((id === undefined) !== (flags.all ?? false)) throw new UsageError('Give the id of a job, or --all.')
  const { getWorkspace, OperatorError, withStore } = await import('../server/operator.ts')
  return withStore(flags.database, async (store) => {
    const workspaceId = flags.workspace && (await getWorkspace(store, flags.workspace)).id
    const ids = id === undefined ? undefined : /^[0-9a-f-]{36}$/i.test(id) ? [id.toLowerCase()] : []
    const count = await work(store, { ...(workspaceId && { workspaceId }), ids })
    if (ids && count === 0) {
      throw new OperatorError(`No job ${id} gave up or is quarantined; passes jobs list shows those that did.`)
    }
    return count
  })
}
