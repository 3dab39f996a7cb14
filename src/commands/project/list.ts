import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import type { Project } from '../../core/contract/projects.ts'

const shape: ListShape<Project> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'name', value: ({ name }) => name },
    { name: 'color', value: ({ color }) => color, title: 'colour' },
    { name: 'description', value: ({ description }) => description },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'updatedAt', value: ({ updatedAt }) => updatedAt, kind: 'time', title: 'updated' },
  ],
  table: ['id', 'name', 'color', 'createdAt'],
}

export default class ProjectList extends ClientCommand {
  static override summary = 'List projects, newest first.'
  static override examples = [
    { description: 'The newest projects', command: '<%= config.bin %> project list' },
    { description: 'Every one, for a script', command: '<%= config.bin %> project list --all --json' },
  ]
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(ProjectList)
    return this.showList({
      pages: listPages(this.connect(flags).projects.list, {}, flags),
      shape,
      flags,
      noun: ['project', 'projects'],
      empty: 'Next: passes project create --name NAME',
    })
  }
}
