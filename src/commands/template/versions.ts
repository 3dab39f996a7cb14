import { Flags } from '@oclif/core'
import { styleFlags } from '../../cli/arguments/list-flags.ts'
import { namedArg } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { onePage } from '../../cli/list/show-list.ts'
import { getVersion } from '../../cli/template/template-version.ts'
import type { TemplateVersion } from '../../core/contract/templates/template-versions.ts'

const shape: ListShape<TemplateVersion> = {
  columns: [['version', 'stage'], { name: 'id', whole: true }, ['publishedAt', 'updatedAt']],
}

export default class TemplateVersions extends ClientCommand {
  static override summary = 'List the versions of a template, newest first, or show one with its definition.'
  static override examples = [
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --json',
    {
      description: 'Show version 3 with its definition',
      command: '<%= config.bin %> template versions 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 3',
    },
  ]
  static override args = { id: namedArg('template') }
  static override flags = {
    version: Flags.integer({ summary: 'Number of the version to show with its definition (default: a list).', min: 1 }),
    ...styleFlags,
  }

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
    const page = await this.showList({
      pages: onePage(versions),
      shape,
      flags,
      noun: ['version', 'versions'],
      empty: 'Next: passes template push',
    })
    return page?.items
  }
}
