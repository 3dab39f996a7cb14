import { Flags } from '@oclif/core'
import { getPass, getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showPass, showWallets } from '../../cli/records.ts'

export default class PassGet extends ClientCommand {
  static override summary = 'Show a pass with its links.'
  static override examples = [
    '<%= config.bin %> pass get 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    '<%= config.bin %> pass get T-1 --external --json',
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    wallets: Flags.boolean({ summary: 'With the phones that hold it, as pass wallets shows them.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassGet)
    const client = this.connect(flags)
    const reference = { id: args.id, external: flags.external }
    const pass = flags.wallets
      ? await client.passes.get({ params: { id: await getPassId(client, reference) }, query: { include: ['wallets'] } })
      : await getPass(client, reference)
    this.log(showPass(pass))
    if (pass.wallets) this.log(`\n${showWallets(pass.wallets, terminalWidth())}`)
    return pass
  }
}
