import { Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/base-command.ts'
import { databaseFlags } from '../../cli/server-flags.ts'

export default class WorkspaceCreate extends BaseCommand {
  static override summary = 'Make a workspace.'
  static override description = 'A workspace sees its own projects, templates, passes and webhooks only.'
  static override examples = [
    '<%= config.bin %> workspace create --name acme',
    '<%= config.bin %> workspace create --name acme --json',
  ]
  static override flags = {
    ...databaseFlags,
    name: Flags.string({ summary: 'Name, unique on this server.', required: true }),
  }

  async run() {
    const { flags } = await this.parse(WorkspaceCreate)
    const { insertWorkspace, OperatorError, withNewStore } = await import('../../server/operator.ts')
    const workspace = await withNewStore(flags.database, (store) => insertWorkspace(store, flags.name, new Date()))
    if (!workspace) throw new OperatorError(`There is a workspace ${flags.name} already.`)
    this.log(
      `Made the workspace ${workspace.name} (${workspace.id}). Next: passes token create --workspace ${workspace.name} --name …`,
    )
    return workspace
  }
}
