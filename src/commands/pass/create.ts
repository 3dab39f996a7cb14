import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/client-command.ts'
import { UsageError } from '../../cli/errors.ts'
import { showPass } from '../../cli/show.ts'

export default class PassCreate extends ClientCommand {
  static override summary = 'Create a pass.'
  static override description =
    'An external id that has a pass already gives that pass, unchanged. For many passes use issue with a CSV file.'
  static override examples = [
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label "Ada Lovelace"',
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-2 --label Grace --var seat=12A --var hall="Hall 2"',
  ]
  static override flags = {
    template: Flags.string({ summary: 'Id of the template.', required: true }),
    'external-id': Flags.string({ summary: 'Your own key of the pass, unique in the workspace.', required: true }),
    label: Flags.string({ summary: 'Name of the holder.', required: true }),
    var: Flags.string({
      summary: 'A variable as name=value. Repeatable.',
      multiple: true,
      multipleNonGreedy: true,
      default: [],
    }),
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

function splitVariable(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--var ${text} must be name=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}
