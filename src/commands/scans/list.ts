import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { scanFilterFlags, scanQuery } from '../../cli/scan-list/filters.ts'
import { scansShape } from '../../cli/scan-list/formats.ts'
import { withHolders } from '../../cli/scan-list/holders.ts'
import { passIdsOf } from '../../cli/scan-list/passes.ts'

export default class ScansList extends ClientCommand {
  static override summary = 'List the ledger of scans, newest first.'
  static override description =
    'Every attempt stands there, accepted or not. Different filters must all hold; the values of one that is repeated ' +
    'are alternatives. --all writes page after page, in constant memory; with --json one scan a line. For files use ' +
    'scans export.'
  static override examples = [
    { description: 'Who was turned away', command: '<%= config.bin %> scans list --result denied' },
    {
      description: 'Everything that became of a ticket',
      command: '<%= config.bin %> scans list --pass T-1 --external --all',
    },
  ]
  static override flags = { ...scanFilterFlags, ...listFlags }

  async run() {
    const { flags } = await this.parse(ScansList)
    const client = this.connect(flags)
    const query = scanQuery(flags, await passIdsOf(client, flags))
    return this.showList({
      pages: withHolders(client, listPages(client.scans.list, query, flags), (message) => this.note(message)),
      shape: scansShape,
      flags,
      streamsJson: true,
      noun: ['scan', 'scans'],
      empty: 'Next: passes scan',
      query,
    })
  }
}
