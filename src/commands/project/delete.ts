import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class ProjectDelete extends ClientCommand {
  static override summary = 'Delete a project.'
  static override description = 'Its templates and passes live on without a project. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> project delete 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> project delete 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --yes --json',
  ]
  static override args = { id: namedArg('project') }
  static override flags = { yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(ProjectDelete)
    const client = this.connect(flags)
    await confirm(`Delete project ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    await client.projects.delete({ params: { id: args.id } })
    this.log(`Project ${args.id} is deleted.`)
    return { id: args.id, deleted: true }
  }
}
