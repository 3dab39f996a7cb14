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
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { showPass } from '../../cli/records.ts'

export default class PassTransfer extends ClientCommand {
  static override summary = 'Give a pass to another holder, with a new code and new links.'
  static override description =
    'Cards on phones of the former holder turn void with their next update, earlier links are closed, and the old ' +
    'code is rejected. Variables that are not given keep their value. Asks for confirmation; without a terminal, ' +
    '--yes is required.'
  static override examples = [
    '<%= config.bin %> pass transfer T-1 --external --label "Charles Babbage" --var email=charles@example.org --unset requests',
    {
      description: 'Only if it is still at revision 3, so that a retry is not a second transfer',
      command: '<%= config.bin %> pass transfer T-1 --external --label "Charles Babbage" --if-match 3 --yes --json',
    },
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    label: Flags.string({ summary: 'Name of the new holder.', required: true }),
    var: variableFlag,
    unset: unsetFlag,
    ...ifMatchFlag,
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassTransfer)
    const variables = variablesOf(flags)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    await confirm(`Give pass ${args.id} to ${flags.label}?`, { yes: flags.yes, noInput: flags['no-input'] })
    const pass = await client.passes.transfer({
      params: { id },
      headers: { 'if-match': flags['if-match'] },
      body: { label: flags.label, ...(variables && { variables }) },
    })
    this.log(showPass(pass))
    this.note('Send the links above to the new holder. Previous links are revoked.')
    return pass
  }
}
