import { Args } from '@oclif/core'
import { BaseCommand } from '../../cli/base-command.ts'
import { databaseFlags } from '../../cli/server-flags.ts'

export default class WorkspaceSuspend extends BaseCommand {
  static override summary = 'Suspend a workspace.'
  static override description = 'Its tokens answer 403 TENANT_SUSPENDED within two seconds; nothing is deleted.'
  static override examples = [
    '<%= config.bin %> workspace suspend acme',
    '<%= config.bin %> workspace suspend acme --database sqlite:./data/passes.db',
  ]
  static override args = { workspace: Args.string({ description: 'Name or id of the workspace.', required: true }) }
  static override flags = databaseFlags

  async run() {
    const { args, flags } = await this.parse(WorkspaceSuspend)
    const { setSuspended } = await import('../../server/operator.ts')
    const workspace = await setSuspended(flags.database, args.workspace, { isSuspended: true, at: new Date() })
    this.log(`Suspended ${workspace.name}.`)
    return workspace
  }
}
