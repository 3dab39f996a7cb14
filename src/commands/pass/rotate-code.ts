import { Flags } from '@oclif/core'
import { getPassId, ifMatchFlag, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'

export default class PassRotateCode extends ClientCommand {
  static override summary = 'Give a pass a new scan code, so that copies of the old one let nobody in.'
  static override description =
    'Cards on phones show the new code after their next update; prints and screenshots are turned away as an old code. ' +
    'Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> pass rotate-code T-1 --external',
    {
      description: 'Only if nobody changed it since revision 3 was read, so that a second try makes no third code',
      command: '<%= config.bin %> pass rotate-code T-1 --external --if-match 3 --yes --json',
    },
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    ...ifMatchFlag,
    yes: Flags.boolean({ summary: 'Do it without asking.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassRotateCode)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    await confirm(`Give pass ${args.id} a new code?`, { yes: flags.yes, noInput: flags['no-input'] })
    const pass = await client.passes.rotateCode({ params: { id }, headers: { 'if-match': flags['if-match'] } })
    this.log(`Pass ${args.id} has a new code; the old one lets nobody in.`)
    return pass
  }
}
