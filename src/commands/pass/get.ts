import { getPass, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showPass } from '../../cli/records.ts'

export default class PassGet extends ClientCommand {
  static override summary = 'Show a pass with its links.'
  static override examples = [
    '<%= config.bin %> pass get 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    '<%= config.bin %> pass get T-1 --external --json',
  ]
  static override args = passArgs
  static override flags = passFlags

  async run() {
    const { args, flags } = await this.parse(PassGet)
    const pass = await getPass(this.connect(flags), { id: args.id, external: flags.external })
    this.log(showPass(pass))
    return pass
  }
}
