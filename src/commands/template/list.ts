import { listFlags, listPage, moreHint, projectFilter, projectQuery } from '../../cli/arguments/list.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'

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
    const page = await listPage(this.connect(flags).templates.list, projectQuery(flags.project), flags)
    this.log(
      table(
        page.items,
        [
          { title: 'id', value: (template) => template.id, whole: true },
          { title: 'key', value: (template) => template.key, whole: true },
          { title: 'name', value: (template) => template.name },
          { title: 'pass type', value: (template) => template.passType },
          { title: 'published', value: (template) => template.latestPublishedVersion ?? 'none' },
          { title: 'created', value: (template) => template.createdAt },
        ],
        { width: terminalWidth() },
      ),
    )
    const more = moreHint(page)
    if (more) this.note(more)
    return page
  }
}
