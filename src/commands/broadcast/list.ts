import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { messageLine, projectArg } from '../../cli/notify/show.ts'
import type { Broadcast } from '../../core/contract/broadcasts.ts'

const shape: ListShape<Broadcast> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'status', value: ({ status }) => status, whole: true },
    { name: 'passCount', value: ({ passCount }) => passCount, title: 'passes', whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
  ],
  table: ['id', 'status', 'passCount', 'sendAt', 'body'],
}

export default class BroadcastList extends ClientCommand {
  static override summary = 'List the broadcasts of a project, newest first.'
  static override examples = [
    '<%= config.bin %> broadcast list 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> broadcast list 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --all --json',
  ]
  static override args = projectArg
  static override flags = listFlags

  async run() {
    const { args, flags } = await this.parse(BroadcastList)
    const client = this.connect(flags)
    const params = { id: args.project }
    return this.showList({
      pages: listPages<Broadcast, object>((call) => client.broadcasts.list({ params, ...call }), {}, flags),
      shape,
      flags,
      noun: ['broadcast', 'broadcasts'],
      empty: 'Next: passes broadcast send',
    })
  }
}
