import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { showIdentity } from '../../cli/identity.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class IdentityRetire extends BaseCommand {
  static override summary = 'Make no more passes under an identity.'
  static override description =
    'The passes that it has are kept up to date, so its certificate still has to be renewed. It must be the default of nothing ' +
    '(passes identity use server). With --workspace that workspace alone makes no more, and cannot give it to its projects. ' +
    'passes identity use takes it back.'
  static override examples = [
    '<%= config.bin %> identity retire acme',
    '<%= config.bin %> identity retire acme --workspace agency',
    '<%= config.bin %> identity retire acme --database sqlite:./data/passes.db --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity.', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or id of a workspace: the others go on with it.' }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityRetire)
    const { retireIdentity } = await import('../../server/operator/identities.ts')
    const { database: databaseUrl, workspace } = flags
    const identity = await retireIdentity({ databaseUrl }, args.name, { workspace, at: new Date() })
    this.log(showIdentity(identity))
    return identity
  }
}
