import { Flags } from '@oclif/core'
import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { table } from '../../cli/command/output.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class JobsList extends BaseCommand {
  static override summary = 'Show what waits in the outbox, what gave up, and what is quarantined.'
  static override description =
    'Works straight on the database. Jobs that gave up stay until passes jobs retry or passes jobs delete, and so do ' +
    'those under which workers stopped three times: they are quarantined.'
  static override examples = ['<%= config.bin %> jobs list', '<%= config.bin %> jobs list --limit 100 --json']
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Show failures of this workspace only (name or id).' }),
    limit: Flags.integer({ summary: 'Failures to show, newest first.', default: 20, min: 1, max: 1000 }),
  }

  async run() {
    const { flags } = await this.parse(JobsList)
    const { getWorkspace, withStore } = await import('../../server/operator/operator.ts')
    const { counts, failed } = await withStore(flags.database, async (store) => {
      const workspaceId = flags.workspace && (await getWorkspace(store, flags.workspace)).id
      const filter = { ...(workspaceId && { workspaceId }) }
      return { counts: await store.backlog.counts(), failed: await store.backlog.listFailed(filter, flags.limit) }
    })
    const width = terminalWidth()
    if (counts.length === 0) this.log('Nothing waits.')
    else {
      const columns = [
        { title: 'Kind', value: (row: (typeof counts)[number]) => row.kind },
        { title: 'Waiting', value: (row: (typeof counts)[number]) => String(row.waiting) },
        { title: 'Running', value: (row: (typeof counts)[number]) => String(row.running) },
        { title: 'Failed', value: (row: (typeof counts)[number]) => String(row.failed) },
        { title: 'Quarantined', value: (row: (typeof counts)[number]) => String(row.quarantined) },
        { title: 'Oldest due', value: (row: (typeof counts)[number]) => row.oldestRunAt?.toISOString() ?? '' },
      ]
      this.log(table(counts, columns, { width }))
    }
    if (failed.length > 0) {
      const columns = [
        { title: 'Failed job', value: (job: (typeof failed)[number]) => job.id, whole: true as const },
        { title: 'State', value: (job: (typeof failed)[number]) => job.state },
        { title: 'Kind', value: (job: (typeof failed)[number]) => job.kind },
        { title: 'Subject', value: (job: (typeof failed)[number]) => job.subject },
        { title: 'Error', value: (job: (typeof failed)[number]) => job.error },
      ]
      this.log(`\n${table(failed, columns, { width })}`)
      this.note('Run them again with: passes jobs retry --all (or ID); remove one with: passes jobs delete ID')
    }
    return { counts, failed }
  }
}
