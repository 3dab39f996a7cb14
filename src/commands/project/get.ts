import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showProject } from '../../cli/records.ts'

export default class ProjectGet extends ClientCommand {
  static override summary = 'Show a project.'
  static override examples = [
    '<%= config.bin %> project get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> project get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = { id: namedArg('project') }

  async run() {
    const { args, flags } = await this.parse(ProjectGet)
    const project = await this.connect(flags).projects.get({ params: { id: args.id } })
    this.log(showProject(project))
    return project
  }
}
