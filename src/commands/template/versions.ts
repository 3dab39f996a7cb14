import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'
import { getVersion } from '../../cli/template/template-version.ts'

export default class TemplateVersions extends ClientCommand {
  static override summary = 'List the versions of a template, newest first, or show one with its definition.'
  static override examples = [
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --json',
    {
      description: 'What version 3 says',
      command: '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 3',
    },
  ]
  static override args = { id: namedArg('template') }
  static override flags = { version: Flags.integer({ summary: 'Number of a version, to show this one.', min: 1 }) }

  async run() {
    const { args, flags } = await this.parse(TemplateVersions)
    const client = this.connect(flags)
    if (flags.version !== undefined) {
      const { id } = await getVersion(client, { templateId: args.id, version: flags.version })
      const version = await client.templateVersions.get({ params: { id } })
      this.log(JSON.stringify(version, undefined, 2))
      return version
    }
    const versions = await client.templateVersions.list({ query: { templateId: args.id } })
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
