import { followFlag, listFlags } from '../../cli/arguments/list-flags.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { passIdsOf, scanFilterFlags, scanQuery, scansShape, withHolders } from '../../cli/scan-list/formats.ts'

export default class ScansList extends ClientCommand {
  static override summary = 'List the ledger of scans, newest first.'
  static override description =
    'The ledger contains every attempt, accepted or not. Different filters must all match; repeated values of one ' +
    'filter are alternatives. With --all, memory use is constant, and --json prints one scan per line. To write a ' +
    'file, use "passes scans export", which can be resumed.'
  static override examples = [
    { description: 'Follow new scans', command: '<%= config.bin %> scans list --follow' },
    { description: 'List rejected scans', command: '<%= config.bin %> scans list --result denied' },
    {
      description: 'List all scans of a ticket',
      command: '<%= config.bin %> scans list --pass T-1 --external --all',
    },
  ]
  static override flags = { ...scanFilterFlags, ...listFlags, follow: followFlag }

  async run() {
    const { flags } = await this.parse(ScansList)
    const client = this.connect(flags)
    const query = scanQuery(flags, await passIdsOf(client, flags))
    return this.showPages({
      list: client.scans.list,
      decorate: (pages) => withHolders(client, pages, (message) => this.note(message)),
      writtenAt: ({ recordedAt }) => recordedAt,
      shape: scansShape,
      flags,
      streamsJson: true,
      noun: ['scan', 'scans'],
      empty: 'Next: passes scan',
      query,
    })
  }
}
