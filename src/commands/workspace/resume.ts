import { Args } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceResume extends BaseCommand {
  static override summary = 'Resume a suspended workspace.'
  static override description = 'Its tokens, and its links if they were closed, work again within two seconds.'
  static override examples = [
    '<%= config.bin %> workspace resume acme',
    '<%= config.bin %> workspace resume acme --database sqlite:./data/passes.db',
  ]
  static override args = { workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }) }
  static override flags = databaseFlags

  async run() {
    const { args, flags } = await this.parse(WorkspaceResume)
    const { setSuspended } = await import('../../server/operator/operator.ts')
    const workspace = await setSuspended(flags.database, args.workspace, { isSuspended: false, at: new Date() })
    this.log(`Resumed ${workspace.name}.`)
    return workspace
  }
}
