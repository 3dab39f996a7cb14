import { BaseCommand, terminalWidth } from '../../cli/command/base-command.ts'
import { table } from '../../cli/command/output.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceList extends BaseCommand {
  static override summary = 'List the workspaces of the server.'
  static override examples = ['<%= config.bin %> workspace list', '<%= config.bin %> workspace list --json']
  static override flags = databaseFlags

  async run() {
    const { flags } = await this.parse(WorkspaceList)
    const { withStore } = await import('../../server/operator/operator.ts')
    const workspaces = await withStore(flags.database, (store) => store.workspaces.list())
    this.log(
      table(
        workspaces,
        [
          { title: 'Id', value: (workspace) => workspace.id, whole: true },
          { title: 'Name', value: (workspace) => workspace.name },
          { title: 'Created', value: (workspace) => workspace.createdAt.toISOString() },
          { title: 'Offline scanning', value: ({ offlineScanning }) => (offlineScanning ? 'on' : 'off') },
          { title: 'Suspended', value: ({ suspendedAt, linksClosedAt }) => suspended(suspendedAt, linksClosedAt) },
          { title: 'Ends', value: (workspace) => workspace.expiresAt?.toISOString() ?? 'never' },
        ],
        { width: terminalWidth() },
      ),
    )
    return workspaces
  }
}

function suspended(suspendedAt: Date | null, linksClosedAt: Date | null): string {
  return suspendedAt ? `${suspendedAt.toISOString()}${linksClosedAt ? ', with its links' : ''}` : ''
}
