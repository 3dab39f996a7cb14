import { Flags } from '@oclif/core'
import { pastFlag } from '../../cli/arguments/list-flags.ts'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { showExplanation } from '../../cli/records.ts'
import { canColor } from '../../cli/settings/settings.ts'

export default class PassExplain extends ClientCommand {
  static override summary = 'Explain whether a pass would be accepted at a given time, and why.'
  static override description =
    'Shows each check of a scan in order, with the facts it used; the first check that fails decides. Records ' +
    'nothing. Exits with 0 for any decision.'
  static override examples = [
    '<%= config.bin %> pass explain T-1 --external',
    '<%= config.bin %> pass explain 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --at 2027-05-31T19:30:00Z --context 2027-05-31',
  ]
  static override args = passArgs
  static override flags = {
    ...passFlags,
    at: pastFlag('Time: 2027-05-31T19:30:00Z, "in 2h", or 2h for two hours ago (now).'),
    date: Flags.string({ summary: 'Evaluate as of this date (YYYY-MM-DD), as a scan can.' }),
    context: Flags.string({ summary: 'Scan context, such as an event day.' }),
  }

  async run() {
    const { args, flags } = await this.parse(PassExplain)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    const query = { at: flags.at, validityDate: flags.date, scanContextKey: flags.context }
    const explanation = await client.scans.explain({ params: { id }, query })
    const color = canColor(process.stdout) && !flags['no-color']
    this.log(showExplanation(explanation, { color, width: terminalWidth() }))
    return explanation
  }
}
