import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/base-command.ts'
import { confirm } from '../../cli/prompt.ts'
import { databaseFlags } from '../../cli/server-flags.ts'

export default class WorkspaceSuspend extends BaseCommand {
  static override summary = 'Suspend a workspace.'
  static override description =
    'Its tokens answer 403 TENANT_SUSPENDED within two seconds; nothing is deleted. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> workspace suspend acme',
    '<%= config.bin %> workspace suspend acme --database sqlite:./data/passes.db --yes',
  ]
  static override args = { workspace: Args.string({ description: 'Name or id of the workspace.', required: true }) }
  static override flags = { ...databaseFlags, yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(WorkspaceSuspend)
    await confirm(`Suspend ${args.workspace}?`, { yes: flags.yes ?? false, noInput: flags['no-input'] })
    const { setSuspended } = await import('../../server/operator.ts')
    const workspace = await setSuspended(flags.database, args.workspace, { isSuspended: true, at: new Date() })
    this.log(`Suspended ${workspace.name}.`)
    return workspace
  }
}
