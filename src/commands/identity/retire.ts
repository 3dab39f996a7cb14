import { Args, Flags } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { showIdentity } from '../../cli/identity-flags.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class IdentityRetire extends BaseCommand {
  static override summary = 'Stop creating passes under an identity.'
  static override description =
    'Its existing passes are still updated, so its certificate must still be renewed. It must not be a default ' +
    '(passes identity use server). With --workspace, only that workspace stops using it, and cannot assign it to its ' +
    'projects. passes identity use reactivates it.'
  static override examples = [
    '<%= config.bin %> identity retire acme',
    '<%= config.bin %> identity retire acme --workspace agency',
    '<%= config.bin %> identity retire acme --database sqlite:./data/passes.db --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity.', required: true }) }
  static override flags = {
    ...databaseFlags,
    workspace: Flags.string({ summary: 'Name or ID of a workspace: others keep using the identity.' }),
  }

  async run() {
    const { args, flags } = await this.parse(IdentityRetire)
    const { retireIdentity } = await import('../../server/operator/manage-identities.ts')
    const { database: databaseUrl, workspace } = flags
    const identity = await retireIdentity({ databaseUrl }, args.name, { workspace, at: new Date() })
    this.log(showIdentity(identity))
    return identity
  }
}
