import { Args } from '@oclif/core'
import { BaseCommand } from '../../cli/command/base-command.ts'
import { showIdentity } from '../../cli/identity-flags.ts'
import { databaseFlags } from '../../cli/settings/server-flags.ts'

export default class IdentityShow extends BaseCommand {
  static override summary = 'Show an identity, and where it is the default.'
  static override description = 'The key is never shown.'
  static override examples = [
    '<%= config.bin %> identity show acme',
    '<%= config.bin %> identity show acme --database sqlite:./data/passes.db --json',
  ]
  static override args = { name: Args.string({ description: 'Name of the identity.', required: true }) }
  static override flags = databaseFlags

  async run() {
    const { args, flags } = await this.parse(IdentityShow)
    const operator = await import('../../server/operator/manage-identities.ts')
    const identity = await operator.showIdentity({ databaseUrl: flags.database }, args.name)
    this.log(showIdentity(identity))
    return identity
  }
}
