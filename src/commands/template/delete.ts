import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class TemplateDelete extends ClientCommand {
  static override summary = 'Delete a template.'
  static override description = 'Passes that were issued from it live on. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> template delete 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template delete 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --yes --json',
  ]
  static override args = { id: namedArg('template') }
  static override flags = { yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(TemplateDelete)
    const client = this.connect(flags)
    const { id, name } = await client.templates.get({ params: { id: args.id } })
    await confirm(`Delete template ${name} (${id})?`, { yes: flags.yes, noInput: flags['no-input'] })
    await client.templates.delete({ params: { id } })
    this.log(`Template ${name} (${id}) is deleted.`)
    return { id, deleted: true }
  }
}
