import { Flags } from '@oclif/core'
import { namedArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { getVersion } from '../../cli/template/template-version.ts'

export default class TemplateDeleteDraft extends ClientCommand {
  static override summary = 'Delete a draft version of a template.'
  static override description = 'A published version stays for good. Asks first; elsewhere give --yes.'
  static override examples = [
    {
      description: 'The newest version, where it is a draft',
      command: '<%= config.bin %> template delete-draft 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
    },
    '<%= config.bin %> template delete-draft 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --version 3 --yes',
  ]
  static override args = { id: namedArg('template') }
  static override flags = {
    version: Flags.integer({ summary: 'Number of the draft; the newest by default.', min: 1 }),
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplateDeleteDraft)
    const client = this.connect(flags)
    const draft = await getVersion(client, { templateId: args.id, version: flags.version, draftOnly: true })
    const what = `version ${draft.version} of template ${args.id}`
    await confirm(`Delete ${what}?`, { yes: flags.yes, noInput: flags['no-input'] })
    await client.templateVersions.delete({ params: { id: draft.id } })
    this.log(`Deleted ${what}.`)
    return { id: draft.id, version: draft.version, deleted: true }
  }
}
