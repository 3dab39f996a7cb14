import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/base-command.ts'
import { UsageError } from '../../cli/errors.ts'
import { databaseFlags } from '../../cli/server-flags.ts'

export default class JobsRetry extends BaseCommand {
  static override summary = 'Run jobs again that gave up.'
  static override description =
    'Works straight on the database; running servers take the jobs up within a second. A pass that FAILED with its job ' +
    'is QUEUED again; a wallet update fires pass.updated with changedFields manual_requeue.'
  static override examples = [
    '<%= config.bin %> jobs retry 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> jobs retry --all --workspace acme',
  ]
  static override args = { id: Args.string({ description: 'Id of the job (passes jobs list).' }) }
  static override flags = {
    ...databaseFlags,
    all: Flags.boolean({ summary: 'All that gave up.' }),
    workspace: Flags.string({ summary: 'With --all: those of one workspace (name or id).', dependsOn: ['all'] }),
  }

  async run() {
    const { args, flags } = await this.parse(JobsRetry)
    if ((args.id === undefined) !== (flags.all ?? false)) throw new UsageError('Give the id of a job, or --all.')
    const { getWorkspace, OperatorError, withStore } = await import('../../server/operator.ts')
    const { retryJobs } = await import('../../server/retry-jobs.ts')
    return withStore(flags.database, async (store) => {
      const workspaceId = flags.workspace && (await getWorkspace(store, flags.workspace)).id
      const ids = args.id === undefined ? undefined : /^[0-9a-f-]{36}$/i.test(args.id) ? [args.id.toLowerCase()] : []
      const retried = await retryJobs(store, { ...(workspaceId && { workspaceId }), ids }, new Date())
      if (ids && retried === 0)
        throw new OperatorError(`No job ${args.id} gave up; passes jobs list shows those that did.`)
      this.log(`${retried} ${retried === 1 ? 'job is' : 'jobs are'} due again.`)
      return { retried }
    })
  }
}
