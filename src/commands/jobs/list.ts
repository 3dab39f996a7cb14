import { Flags } from '@oclif/core'
import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { localTime, table } from '../../cli/command/output.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'
import type { BacklogCounts, FailedJob } from '../../storage/jobs/backlog.ts'

const shape: ListShape<FailedJob> = {
  columns: [{ name: 'id', title: 'job', whole: true }, ['state', 'kind', 'subject', 'attempts', 'failedAt', 'error']],
  table: ['id', 'state', 'kind', 'subject', 'error'],
}

export default class JobsList extends BaseCommand {
  static override summary = 'List pending, discarded, and quarantined jobs.'
  static override description =
    'Accesses the database directly, not through a server. A job is discarded after its last attempt failed, and ' +
    'quarantined if workers stopped four times while they ran it. Such jobs remain until you run "passes jobs retry" ' +
    'or "passes jobs delete". With --json, `failed` contains the discarded and quarantined jobs.'
  static override examples = ['<%= config.bin %> jobs list', '<%= config.bin %> jobs list --limit 100 --json']
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Only discarded and quarantined jobs of this workspace (name or ID).' }),
    limit: Flags.integer({
      summary: 'Maximum number of discarded and quarantined jobs to show, 1-1,000.',
      default: 20,
      min: 1,
      max: 1000,
    }),
    ...styleFlags,
  }

  async run() {
    const { flags } = await this.parse(JobsList)
    const { getWorkspace, withStore } = await import('../../server/operator/operator.ts')
    const { counts, failed } = await withStore(flags.database, async (store) => {
      const workspaceId = flags.workspace && (await getWorkspace(store, flags.workspace)).id
      const filter = { ...(workspaceId && { workspaceId }) }
      return { counts: await store.backlog.counts(), failed: await store.backlog.listFailed(filter, flags.limit) }
    })
    const isForPeople = !flags.csv && !flags.jsonl && flags.columns === undefined
    if (isForPeople) this.log(counts.length === 0 ? 'No jobs are pending.' : `${showCounts(counts)}\n`)
    if (failed.length > 0 || !isForPeople) {
      await this.showList({ pages: onePage(failed), shape, flags, noun: ['job', 'jobs'], empty: 'All is well.' })
    }
    if (failed.length > 0)
      this.note('To run them again: passes jobs retry --all (or ID). To delete one: passes jobs delete ID.')
    // `failed` is the former name of `discarded`.
    return { counts: counts.map((count) => ({ ...count, failed: count.discarded })), failed }
  }
}

function showCounts(counts: BacklogCounts[]): string {
  return table(
    counts,
    [
      { title: 'Kind', value: ({ kind }) => kind },
      { title: 'Pending', value: ({ waiting }) => waiting },
      { title: 'Running', value: ({ running }) => running },
      { title: 'Discarded', value: ({ discarded }) => discarded },
      { title: 'Quarantined', value: ({ quarantined }) => quarantined },
      { title: 'Oldest due', value: ({ oldestRunAt }) => (oldestRunAt ? localTime(oldestRunAt) : '') },
    ],
    { width: terminalWidth() },
  )
}
