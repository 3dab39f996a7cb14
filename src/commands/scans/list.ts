import { followFlag, listFlags, listPages } from '../../cli/arguments/list-flags.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { untilStopped } from '../../cli/command/program.ts'
import { passIdsOf, scanFilterFlags, scanQuery } from '../../cli/scan-list/filters.ts'
import { scansShape, withHolders } from '../../cli/scan-list/formats.ts'
import type { Page } from '../../core/contract/common.ts'
import type { ScanItem } from '../../core/contract/scan-shapes.ts'

export default class ScansList extends ClientCommand {
  static override summary = 'List the ledger of scans, newest first.'
  static override description =
    'The ledger contains every attempt, accepted or not. Different filters must all match; repeated values of one ' +
    'filter are alternatives. --all writes all pages, in constant memory; with --json one scan per line. For files, ' +
    'use scans export.'
  static override examples = [
    { description: 'Follow the doors', command: '<%= config.bin %> scans list --follow' },
    { description: 'Rejected scans', command: '<%= config.bin %> scans list --result denied' },
    {
      description: 'All scans of a ticket',
      command: '<%= config.bin %> scans list --pass T-1 --external --all',
    },
  ]
  static override flags = { ...scanFilterFlags, ...listFlags, follow: followFlag }

  async run() {
    const { flags } = await this.parse(ScansList)
    const client = this.connect(flags)
    const query = scanQuery(flags, await passIdsOf(client, flags))
    const note = (message: string) => this.note(message)
    const show = (pages: AsyncIterable<Page<ScanItem>>) =>
      this.showList({
        pages: withHolders(client, pages, note),
        shape: scansShape,
        flags: { ...flags, all: flags.all || flags.follow },
        streamsJson: true,
        noun: ['scan', 'scans'],
        empty: 'Next: passes scan',
        query,
      })
    if (!flags.follow) return show(listPages(client.scans.list, query, flags))
    const { followPages } = await import('../../cli/list/follow.ts')
    return untilStopped((stop) => {
      const list = ({ query: page }: { query: object }) =>
        client.scans.list({ query: { ...query, ...page } }, { signal: stop })
      return show(followPages({ list, limit: flags.limit, writtenAt: ({ recordedAt }) => recordedAt, stop, note }))
    })
  }
}
