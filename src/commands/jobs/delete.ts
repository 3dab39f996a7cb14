import { BaseCommand } from '../../cli/command/base-command.ts'
import { failedJobArgs, failedJobFlags, namedJobs } from '../../cli/operator.ts'

export default class JobsDelete extends BaseCommand {
  static override summary = 'Delete failed or quarantined jobs.'
  static override description =
    'Works on the database. The work is never done, and its subject does not change: a pass that FAILED with its job ' +
    'remains FAILED, and an update of it queues a new job.'
  static override examples = [
    '<%= config.bin %> jobs delete 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> jobs delete --all --workspace acme',
  ]
  static override args = failedJobArgs
  static override flags = failedJobFlags

  async run() {
    const { args, flags } = await this.parse(JobsDelete)
    const { deleteJobs, withFailedJobs } = await import('../../server/operator/failed-jobs.ts')
    const deleted = await withFailedJobs(flags.database, namedJobs(args.id, flags), (store, filter) =>
      deleteJobs(store, filter, new Date()),
    )
    this.log(`Deleted ${deleted} ${deleted === 1 ? 'job' : 'jobs'}.`)
    return { deleted }
  }
}
