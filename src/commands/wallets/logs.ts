import { Flags } from '@oclif/core'
import { filterFlag, listFlags, listPages } from '../../cli/arguments/list.ts'
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
  static override summary = 'List what phones complained of about passes.'
  static override description =
    'iPhones write it where something went wrong, such as a fetch that ended with an error. Nobody signs it: whoever knows the ' +
    'serial number of a pass can write about it. What names no pass stands in the log of the server alone.'
  static override examples = [
    '<%= config.bin %> wallets logs',
    '<%= config.bin %> wallets logs --pass T-1 --external',
    { description: 'Every one, for a script', command: '<%= config.bin %> wallets logs --all --json' },
  ]
  static override flags = {
    project: named('project', filterFlag('Only about passes of this project.')),
    pass: filterFlag('Only about this pass (external id or id).'),
    external: Flags.boolean({ summary: '--pass is an external id, whatever it looks like.', dependsOn: ['pass'] }),
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
