import { Flags } from '@oclif/core'
import { listFlags } from '../../cli/arguments/list-flags.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { passesShape, passFilterFlags, passQuery, sortQuery } from '../../cli/pass-list.ts'

export default class PassList extends ClientCommand {
  static override summary = 'List passes, newest first.'
  static override description =
    'Different filters must all match; repeated values of one filter are alternatives. The total is printed to ' +
    'stderr. With --all, memory use is constant, and --json prints one pass per line. If --sort names a field of ' +
    '--sort-by, such as label, the server sorts all passes. Any other column sorts only the shown rows.'
  static override examples = [
    { description: 'Find the pass of a person', command: '<%= config.bin %> pass list --search lovelace' },
    {
      description: 'Write the guest list of a day for a door',
      command: '<%= config.bin %> pass list --status ISSUED --valid-on 2027-05-31 --no-redeemed --all --csv > door.csv',
    },
    {
      description: 'List passes with an old version of a template, for a script',
      command:
        '<%= config.bin %> pass list --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --template-version lte:2 --all --json',
    },
  ]
  static override flags = {
    ...passFilterFlags,
    ...listFlags,
    wallets: Flags.boolean({ summary: 'Include the wallets of each pass in JSON output.' }),
  }

  async run() {
    const { flags } = await this.parse(PassList)
    const include = flags.wallets ? ['wallets' as const] : undefined
    const { sortBy, sortDir, ...query } = passQuery(flags)
    const sorted = { sortBy, sortDir, ...sortQuery(flags.sort) }
    const { passes } = this.connect(flags)
    return this.showPages({
      list: (call) => passes.list({ query: { ...call.query, ...sorted, include } }),
      shape: passesShape,
      flags: { ...flags, sort: sortQuery(flags.sort) ? undefined : flags.sort },
      streamsJson: true,
      noun: ['pass', 'passes'],
      empty: 'Next: passes issue FILE.csv, or passes pass create',
      query,
    })
  }
}
