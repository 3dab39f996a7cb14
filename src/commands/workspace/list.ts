import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { BaseCommand } from '../../cli/command/base-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

interface WorkspaceItem {
  id: string
  name: string
  createdAt: Date
  offlineScanning: boolean
  suspendedAt: Date | null
  linksClosedAt: Date | null
  expiresAt: Date | null
}

const shape: ListShape<WorkspaceItem> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'name', value: ({ name }) => name },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'offlineScanning', value: ({ offlineScanning }) => (offlineScanning ? 'on' : 'off') },
    { name: 'suspendedAt', value: ({ suspendedAt }) => suspendedAt, kind: 'time', title: 'suspended' },
    { name: 'linksClosedAt', value: (workspace) => workspace.linksClosedAt, kind: 'time', title: 'links closed' },
    { name: 'expiresAt', value: ({ expiresAt }) => expiresAt, kind: 'time', title: 'ends', none: 'never' },
  ],
}

export default class WorkspaceList extends BaseCommand {
  static override summary = 'List the workspaces of the server.'
  static override examples = ['<%= config.bin %> workspace list', '<%= config.bin %> workspace list --json']
  static override flags = { ...databaseFlags, ...styleFlags }

  async run() {
    const { flags } = await this.parse(WorkspaceList)
    const { withStore } = await import('../../server/operator/operator.ts')
    const workspaces = await withStore(flags.database, (store) => store.workspaces.list())
    const page = await this.showList({
      pages: onePage<WorkspaceItem>(workspaces),
      shape,
      flags,
      noun: ['workspace', 'workspaces'],
      empty: 'Next: passes workspace create --name NAME',
    })
    return page?.items
  }
}
