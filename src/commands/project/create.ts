import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showProject } from '../../cli/records.ts'
import { ProjectColor } from '../../core/contract/projects.ts'

export default class ProjectCreate extends ClientCommand {
  static override summary = 'Create a project.'
  static override examples = [
    '<%= config.bin %> project create --name "Spring fair"',
    '<%= config.bin %> project create --name "Spring fair" --description "Both days" --color green --json',
  ]
  static override flags = {
    name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
    description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
    color: Flags.option({ summary: 'Colour; gray where none is given.', options: ProjectColor.options })(),
  }

  async run() {
    const { flags } = await this.parse(ProjectCreate)
    const { name, description, color } = flags
    const project = await this.connect(flags).projects.create({ body: { name, description, color } })
    this.log(showProject(project))
    return project
  }
}
