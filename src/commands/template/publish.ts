import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { getVersion, warningText } from '../../cli/template/template-version.ts'

export default class TemplatePublish extends ClientCommand {
  static override summary = 'Publish a draft version, irreversibly.'
  static override description = 'New passes use the newest published version.'
  static override examples = [
    {
      description: 'The newest draft',
      command: '<%= config.bin %> template publish 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    },
    '<%= config.bin %> template publish 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 3',
  ]
  static override args = { id: namedArg('template') }
  static override flags = { version: Flags.integer({ summary: 'Number of the version; the newest draft by default.' }) }

  async run() {
    const { args, flags } = await this.parse(TemplatePublish)
    const client = this.connect(flags)
    const wanted = await getVersion(client, { templateId: args.id, version: flags.version, draftOnly: true })
    const { definition: _, ...published } = await client.templateVersions.publish({ params: { id: wanted.id } })
    this.log(`Version ${published.version} of template ${published.templateId} is published.`)
    const warnings = warningText(published.warnings)
    if (warnings && !this.jsonEnabled()) this.note(warnings)
    return published
  }
}
