import { Flags } from '@oclif/core'
import { namedArg, namedFlag } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showTemplate } from '../../cli/records.ts'
import { PassType } from '../../core/contract/definition.ts'

export default class TemplateUpdate extends ClientCommand {
  static override summary = 'Change what a template is called, or where its passes go.'
  static override description =
    'What is not given stays as it is. The pass type is locked by the first publish; passes keep the project that they ' +
    'were created in. template push changes the content.'
  static override examples = [
    '<%= config.bin %> template update 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --name "Day ticket"',
    '<%= config.bin %> template update 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --project none --json',
  ]
  static override args = { id: namedArg('template') }
  static override flags = {
    name: Flags.string({ summary: 'New name.', atLeastOne: ['name', 'key', 'description', 'pass-type', 'project'] }),
    key: Flags.string({ summary: 'New key: small letters, digits, hyphens; unique. "" takes it away.' }),
    description: Flags.string({ summary: 'New description.' }),
    'pass-type': Flags.option({ summary: 'New kind of pass.', options: PassType.options })(),
    project: namedFlag('project', ' that its passes go to from now on; none for no project', { mayBeNone: true }),
  }

  async run() {
    const { args, flags } = await this.parse(TemplateUpdate)
    const { name, key, description, 'pass-type': passType, project } = flags
    const template = await this.connect(flags).templates.update({
      params: { id: args.id },
      body: {
        key: key === '' ? null : key,
        name,
        description,
        passType,
        projectId: project === 'none' ? null : project,
      },
    })
    this.log(showTemplate(template))
    return template
  }
}
