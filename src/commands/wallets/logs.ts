import { Flags } from '@oclif/core'
import { filterFlag, listFlags, listPages } from '../../cli/arguments/list-flags.ts'
import { named } from '../../cli/arguments/named.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { passIdsOf } from '../../cli/scan-list/filters.ts'
import type { DeviceLog } from '../../core/contract/wallets.ts'

const shape: ListShape<DeviceLog> = {
  columns: [
    { name: 'id', value: ({ id }) => id, kind: 'id' },
    { name: 'at', value: ({ at }) => at, kind: 'time' },
    { name: 'passId', value: ({ passId }) => passId, title: 'pass', kind: 'id' },
    { name: 'externalPassId', value: ({ externalPassId }) => externalPassId, title: 'external id' },
    { name: 'device', value: ({ device }) => device },
    { name: 'message', value: ({ message }) => message },
  ],
  table: ['at', 'externalPassId', 'device', 'message'],
  wide: ['at', 'passId', 'externalPassId', 'device', 'message'],
}

export default class WalletsLogs extends ClientCommand {
  static override summary = 'List log messages of phones about passes.'
  static override description =
    'iPhones send messages on errors, such as a failed fetch. They are not authenticated: anyone who knows the ' +
    'serial number of a pass can send one. Messages that name no pass are only in the server log.'
  static override examples = [
    '<%= config.bin %> wallets logs',
    '<%= config.bin %> wallets logs --pass T-1 --external',
    { description: 'All messages, for a script', command: '<%= config.bin %> wallets logs --all --json' },
  ]
  static override flags = {
    project: named('project', filterFlag('Only passes of this project.')),
    pass: filterFlag('Only this pass (external ID or ID).'),
    external: Flags.boolean({ summary: '--pass is an external ID, even if it looks like an ID.', dependsOn: ['pass'] }),
    ...listFlags,
  }

  async run() {
    const { flags } = await this.parse(WalletsLogs)
    const client = this.connect(flags)
    const query = { projectId: flags.project, passId: await passIdsOf(client, flags) }
    return this.showList({
      pages: listPages(client.wallets.logs, query, flags),
      shape,
      flags,
      noun: ['message', 'messages'],
      empty: 'No phone complained about a pass within 30 days.',
      query,
    })
  }
}
