import { Flags } from '@oclif/core'
import { requiredFlag } from '../../cli/arguments/id-argument.ts'
import { existingFlag, splitVariable, variableFlag } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showPass } from '../../cli/records.ts'

const says = {
  created: 'Created.',
  present: 'Present: it already existed with these values.',
  updated: 'Updated: it already existed and differed.',
  differs: 'Differs: it already existed and is unchanged.',
  void: 'Void: it already existed and is unchanged.',
}

export default class PassCreate extends ClientCommand {
  static override summary = 'Create a pass.'
  static override description =
    'Reports whether the pass was created or already existed with these values (variables that are not given are not ' +
    'compared). If the external ID has a pass that differs or is void, the command fails, unless --existing is set. ' +
    'For many passes, use issue with a CSV file.'
  static override examples = [
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label "Ada Lovelace"',
    '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-2 --label Grace --var seat=12A --var hall="Hall 2"',
    {
      description: 'Create or update the pass',
      command:
        '<%= config.bin %> pass create --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --external-id T-1 --label Eve --existing update',
    },
  ]
  static override flags = {
    template: requiredFlag('template'),
    'external-id': Flags.string({ summary: 'Your key of the pass, unique in the workspace.', required: true }),
    label: Flags.string({ summary: 'Name of the holder.', required: true }),
    group: Flags.string({
      summary: 'Group key shared with related passes, such as the tickets of an order.',
    }),
    var: variableFlag,
    existing: existingFlag,
  }

  async run() {
    const { flags } = await this.parse(PassCreate)
    const group = flags.group !== undefined && { groupKey: flags.group }
    const variables = Object.fromEntries(flags.var.map(splitVariable))
    const body = {
      templateId: flags.template,
      externalPassId: flags['external-id'],
      label: flags.label,
      variables,
      ...group,
    }
    const { createOne } = await import('../../cli/issue/outcomes.ts')
    const { outcome, pass } = await createOne(this.connect(flags), body, flags.existing)
    this.log(`${says[outcome]}\n\n${showPass(pass)}`)
    return { ...pass, outcome }
  }
}
