import { listFlags, listPages, projectFilter, projectQuery } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import type { Template } from '../../core/contract/templates.ts'

const shape: ListShape<Template> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'key', value: ({ key }) => key, whole: true },
    { name: 'name', value: ({ name }) => name },
    { name: 'passType', value: ({ passType }) => passType },
    { name: 'version', value: (template) => template.latestPublishedVersion, title: 'published', none: 'none' },
    { name: 'projectId', value: ({ projectId }) => projectId, kind: 'id', title: 'project' },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
    { name: 'updatedAt', value: ({ updatedAt }) => updatedAt, kind: 'time', title: 'updated' },
  ],
  table: ['id', 'key', 'name', 'passType', 'version', 'createdAt'],
}

export default class TemplateList extends ClientCommand {
  static override summary = 'List templates, newest first.'
  static override examples = [
    '<%= config.bin %> template list',
    {
      description: 'Every template of a project, and those of none',
      command: '<%= config.bin %> template list --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --project none --all',
    },
  ]
  static override flags = {
    ...listFlags,
    project: projectFilter,
  }

  async run() {
    const { flags } = await this.parse(TemplateList)
    const query = projectQuery(flags.project)
    return this.showList({
      pages: listPages(this.connect(flags).templates.list, query, flags),
      shape,
      flags,
      noun: ['template', 'templates'],
      empty: 'Next: passes template init',
      query,
    })
  }
}
