import { Args } from '@oclif/core'
import { ClientCommand } from '../../cli/client-command.ts'
import { showPass } from '../../cli/show.ts'

export default class PassGet extends ClientCommand {
  static override summary = 'Show a pass with its links.'
  static override examples = [
    '<%= config.bin %> pass get 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33',
    '<%= config.bin %> pass get 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --json',
  ]
  static override args = { id: Args.string({ description: 'Id of the pass.', required: true }) }

  async run() {
    const { args, flags } = await this.parse(PassGet)
    const pass = await this.connect(flags).passes.get({ params: { id: args.id } })
    this.log(showPass(pass))
    return pass
  }
}
