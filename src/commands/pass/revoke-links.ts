import { Flags } from '@oclif/core'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class PassRevokeLinks extends ClientCommand {
  static override summary = 'Close the links of a pass that were handed out so far.'
  static override description =
    'Cards that are on phones already stay; to end those, void the pass. pass get shows fresh links afterwards. Asks ' +
    'first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> pass revoke-links 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    '<%= config.bin %> pass revoke-links T-1 --external --yes --json',
  ]
  static override args = passArgs
  static override flags = { ...passFlags, yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(PassRevokeLinks)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    await confirm(`Close the links of pass ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    const revoked = await client.passes.revokeLinks({ params: { id } })
    this.log(`${revoked.revokedCount} links of pass ${args.id} are closed.`)
    return revoked
  }
}
