import { Flags } from '@oclif/core'
import {
  getPassId,
  ifMatchFlag,
  passArgs,
  passFlags,
  unsetFlag,
  variableFlag,
  variablesOf,
} from '../../cli/arguments/pass-argument.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showPass } from '../../cli/records.ts'
import { templateVersionFlag } from '../../cli/template/template-version.ts'
import type { PassUpdate as Body } from '../../core/contract/passes.ts'

export default class PassUpdate extends ClientCommand {
  static override summary = 'Update a pass, and the cards on phones.'
  static override description =
    'Variables that are not given keep their value. All changes of one call are one revision. For many passes, use ' +
    'update with a CSV file.'
  static override examples = [
    '<%= config.bin %> pass update T-1 --external --label "Ada King" --var seat=14C --unset hall',
    {
      description: 'Show the result of an upgrade to the newest version of the template',
      command:
        '<%= config.bin %> pass update 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --template-version latest --dry-run --json',
    },
    {
      description: 'Only if it is still at revision 3',
      command: '<%= config.bin %> pass update 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --var points=1240 --if-match 3',
    },
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    label: Flags.string({ summary: 'New name of the holder.' }),
    var: variableFlag,
    unset: unsetFlag,
    group: Flags.string({ summary: 'Group key.', exclusive: ['no-group'] }),
    'no-group': Flags.boolean({ summary: 'Remove the pass from its group.' }),
    'template-version': templateVersionFlag({ summary: 'Upgrade to this published version.' }),
    ...ifMatchFlag,
    notify: Flags.boolean({
      summary: 'Make Android phones ring for fields with a changeMessage, as iPhones do; at most 3 times in 24 hours.',
    }),
    'dry-run': Flags.boolean({ summary: 'Show the updated pass, and change nothing.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassUpdate)
    const body = { ...bodyOf(flags), ...(flags.notify && { notify: true }) }
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    const pass = await client.passes.update({
      params: { id },
      query: { dryRun: flags['dry-run'] },
      headers: { 'if-match': flags['if-match'] },
      body,
    })
    this.log(showPass(pass))
    if (pass.notified) this.note(flags['dry-run'] ? 'Android phones would ring.' : 'Android phones ring.')
    if (flags['dry-run']) this.note('Dry run: the pass would look as follows.')
    return pass
  }
}

interface Changes {
  group: string | undefined
  'no-group': boolean
  label?: string | undefined
  var: string[]
  unset: string[]
  'template-version'?: Body['templateVersion']
}

function bodyOf(changes: Changes): Body {
  const { label, 'template-version': templateVersion } = changes
  const variables = variablesOf(changes)
  const body = {
    ...(label !== undefined && { label }),
    ...(changes['no-group'] ? { groupKey: null } : changes.group !== undefined && { groupKey: changes.group }),
    ...(variables && { variables }),
    ...(templateVersion !== undefined && { templateVersion }),
  }
  if (Object.keys(body).length > 0) return body
  throw new UsageError('There is nothing to change: give --label, --var, --unset or --template-version')
}
