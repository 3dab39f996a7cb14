import { idArg } from '../../cli/arguments/id-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'

export default class TemplateVersions extends ClientCommand {
  static override summary = 'List the versions of a template, newest first.'
  static override examples = [
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --json',
  ]
  static override args = { id: idArg('template') }

  async run() {
    const { args, flags } = await this.parse(TemplateVersions)
    const versions = await this.connect(flags).templateVersions.list({ query: { templateId: args.id } })
    this.log(
      table(
        versions,
        [
          { title: 'version', value: (version) => version.version },
          { title: 'stage', value: (version) => version.stage },
          { title: 'id', value: (version) => version.id, whole: true },
          { title: 'published', value: (version) => version.publishedAt },
          { title: 'updated', value: (version) => version.updatedAt },
        ],
        { width: terminalWidth() },
      ),
    )
    return versions
  }
}
