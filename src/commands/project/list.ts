import { listFlags, listPage, moreHint } from '../../cli/arguments/list.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'

export default class ProjectList extends ClientCommand {
  static override summary = 'List projects, newest first.'
  static override examples = [
    { description: 'The newest projects', command: '<%= config.bin %> project list' },
    { description: 'Every one, for a script', command: '<%= config.bin %> project list --all --json' },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ProjectList)
    const page = await listPage(this.connect(flags).projects.list, {}, flags)
    this.log(
      table(
        page.items,
        [
          { title: 'id', value: (project) => project.id, whole: true },
          { title: 'name', value: (project) => project.name },
          { title: 'colour', value: (project) => project.color },
          { title: 'created', value: (project) => project.createdAt },
        ],
        { width: terminalWidth() },
      ),
    )
    const more = moreHint(page)
    if (more) this.note(more)
    return page
  }
}
