import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class WorkspaceSuspend extends BaseCommand {
  static override summary = 'Suspend a workspace.'
  static override description =
    'Its tokens return 403 TENANT_SUSPENDED within two seconds, and its jobs wait; nothing is deleted. Hosted links ' +
    'keep working unless --links closes them until the workspace is resumed. Phones can still read their passes. ' +
    'Asks for confirmation; without a terminal, --yes is required.'
  static override examples = [
    '<%= config.bin %> workspace suspend acme',
    '<%= config.bin %> workspace suspend acme --links --database sqlite:./data/passes.db --yes',
  ]
  static override args = { workspace: Args.string({ description: 'Name or ID of the workspace.', required: true }) }
  static override flags = {
    ...databaseFlags,
    links: Flags.boolean({ summary: 'Also close its hosted links.' }),
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
  }

  async run() {
    const { args, flags } = await this.parse(WorkspaceSuspend)
    await confirm(`Suspend ${args.workspace}?`, { yes: flags.yes ?? false, noInput: flags['no-input'] })
    const { setSuspended } = await import('../../server/operator/operator.ts')
    const options = { isSuspended: true, closesLinks: flags.links ?? false, at: new Date() }
    const workspace = await setSuspended(flags.database, args.workspace, options)
    this.log(`Suspended ${workspace.name}${workspace.linksClosedAt ? ' and closed its links' : ''}.`)
    return workspace
  }
}
