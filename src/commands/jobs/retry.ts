import { BaseCommand } from '../../cli/command/base-command.ts'
import { failedJobArgs, failedJobFlags, namedJobs } from '../../cli/operator.ts'

export default class JobsRetry extends BaseCommand {
  static override summary = 'Run failed or quarantined jobs again.'
  static override description =
    'Works on the database; running servers start the jobs within a second. A pass that FAILED with its job is ' +
    'QUEUED again, and with --all also passes that could not be signed. An update of a wallet emits pass.updated ' +
    'with changedFields manual_requeue. A quarantined job runs alone, and is quarantined again if the worker stops ' +
    'during it.'
  static override examples = [
    '<%= config.bin %> jobs retry 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> jobs retry --all --workspace acme',
  ]
  static override args = failedJobArgs
  static override flags = failedJobFlags

  async run() {
    const { args, flags } = await this.parse(JobsRetry)
    const { retryJobs, withFailedJobs } = await import('../../server/operator/failed-jobs.ts')
    const retried = await withFailedJobs(flags.database, namedJobs(args.id, flags), (store, filter) =>
      retryJobs(store, filter, new Date()),
    )
    this.log(`${retried} ${retried === 1 ? 'job is' : 'jobs are'} due again.`)
    return { retried }
  }
}
