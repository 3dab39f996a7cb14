import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/client-command.ts'
import { idOf } from '../../cli/id-argument.ts'
import { showPass } from '../../cli/show.ts'
import { splitVariable, variableFlag } from '../../cli/variables.ts'

export default class PassCreate extends ClientCommand {
  static override summary = 'Create a pass.'
  static override description =
    'An external id that has a pass already gives that pass, unchanged. For many passes use issue with a CSV file.'
  static override examples = [
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label "Ada Lovelace"',
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-2 --label Grace --var seat=12A --var hall="Hall 2"',
  ]
  static override flags = {
    template: Flags.string({ summary: 'Id of the template.', required: true, parse: idOf('template') }),
    'external-id': Flags.string({ summary: 'Your own key of the pass, unique in the workspace.', required: true }),
    label: Flags.string({ summary: 'Name of the holder.', required: true }),
    var: variableFlag,
  }

  async run() {
    const { flags } = await this.parse(PassCreate)
    const variables = Object.fromEntries(flags.var.map(splitVariable))
    const pass = await this.connect(flags).passes.create({
      body: { templateId: flags.template, externalPassId: flags['external-id'], label: flags.label, variables },
    })
    this.log(showPass(pass))
    return pass
  }
}
