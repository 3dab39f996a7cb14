import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showTemplate } from '../../cli/records.ts'

export default class TemplateGet extends ClientCommand {
  static override summary = 'Show a template.'
  static override examples = [
    '<%= config.bin %> template get 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template get 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --json',
  ]
  static override args = { id: namedArg('template') }

  async run() {
    const { args, flags } = await this.parse(TemplateGet)
    const template = await this.connect(flags).templates.get({ params: { id: args.id } })
    this.log(showTemplate(template))
    return template
  }
}
