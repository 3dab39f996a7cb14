import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showWallets } from '../../cli/records.ts'

export default class PassWallets extends ClientCommand {
  static override summary = 'Show which phones hold a pass, and whether they have its newest version.'
  static override examples = [
    '<%= config.bin %> pass wallets T-1 --external',
    '<%= config.bin %> pass wallets 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --json',
  ]
  static override args = passArgs
  static override flags = passFlags

  async run() {
    const { args, flags } = await this.parse(PassWallets)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    const wallets = await client.passes.wallets({ params: { id } })
    this.log(showWallets(wallets, terminalWidth()))
    return wallets
  }
}
