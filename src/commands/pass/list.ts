import { Flags } from '@oclif/core'
import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { passesShape, passFilterFlags, passQuery, sortQuery } from '../../cli/pass-list.ts'

export default class PassList extends ClientCommand {
  static override summary = 'List passes, newest first.'
  static override description =
    'Different filters must all hold; the values of one that is repeated are alternatives. How many there are stands ' +
    'on stderr. --all writes page after page, in constant memory; with --json one pass a line. What the server sorts by ' +
    '(createdAt, label and others of --sort-by) is sorted over all pages, other columns over those that are shown.'
  static override examples = [
    { description: 'Find somebody', command: '<%= config.bin %> pass list --search lovelace' },
    {
      description: 'The door list of a day',
      command: '<%= config.bin %> pass list --status ISSUED --valid-on 2027-05-31 --no-redeemed --all --csv > door.csv',
    },
    {
      description: 'Passes on an old version of a template, for a script',
      command:
        '<%= config.bin %> pass list --template 0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27 --template-version lte:2 --all --json',
    },
  ]
  static override flags = {
    ...passFilterFlags,
    ...listFlags,
    wallets: Flags.boolean({ summary: 'With what each wallet holds, in the output of --json.' }),
  }

  async run() {
    const { flags } = await this.parse(PassList)
    const include = flags.wallets ? ['wallets' as const] : undefined
    const query = { ...passQuery(flags), ...sortQuery(flags.sort), include }
    return this.showList({
      pages: listPages(this.connect(flags).passes.list, query, flags),
      shape: passesShape,
      flags: { ...flags, sort: sortQuery(flags.sort) ? undefined : flags.sort },
      streamsJson: true,
      noun: ['pass', 'passes'],
      empty: 'Next: passes issue FILE.csv, or passes pass create',
      query: { ...query, sortBy: undefined, sortDir: undefined, include: undefined },
    })
  }
}
