import { Flags } from '@oclif/core'
import { namedFlag } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showTemplate } from '../../cli/records.ts'
import { PassType } from '../../core/contract/definition.ts'

export default class TemplateCreate extends ClientCommand {
  static override summary = 'Create a template without content.'
  static override description = 'To create one from a file, with its images and first version, use template push.'
  static override examples = [
    '<%= config.bin %> template create --name "Day ticket" --pass-type eventTicket',
    '<%= config.bin %> template create --name Member --pass-type storeCard --project 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
  ]
  static override flags = {
    name: Flags.string({ summary: 'Name, up to 255 characters.', required: true }),
    'pass-type': Flags.option({ summary: 'Kind of pass.', options: PassType.options, required: true })(),
    key: Flags.string({ summary: 'What files and commands call it: small letters, digits, hyphens; unique.' }),
    description: Flags.string({ summary: 'Description, up to 2000 characters.' }),
    project: namedFlag('project', ' that its passes go to'),
  }

  async run() {
    const { flags } = await this.parse(TemplateCreate)
    const { key, name, description, project } = flags
    const template = await this.connect(flags).templates.create({
      body: { key, name, description, passType: flags['pass-type'], projectId: project },
    })
    this.log(showTemplate(template))
    return template
  }
}
