import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import type { ListShape } from '../../cli/list/shape.ts'
import { messageLine } from '../../cli/notify/show.ts'
import type { Notification } from '../../core/contract/notifications.ts'

const shape: ListShape<Notification> = {
  columns: [
    { name: 'id', value: ({ id }) => id, whole: true },
    { name: 'status', value: ({ status }) => status, whole: true },
    { name: 'sendAt', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, kind: 'time' },
    { name: 'body', value: ({ body }) => messageLine(body), title: 'message' },
    { name: 'error', value: ({ apple, google }) => [apple.error, google.error].filter(Boolean).join('; ') || null },
    { name: 'createdAt', value: ({ createdAt }) => createdAt, kind: 'time', title: 'created' },
  ],
  table: ['id', 'status', 'sendAt', 'body'],
  wide: ['id', 'status', 'sendAt', 'body', 'error'],
}

export default class NotificationList extends ClientCommand {
  static override summary = 'List the notifications of a pass, newest first.'
  static override examples = [
    '<%= config.bin %> notification list T-1 --external',
    '<%= config.bin %> notification list 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --all --json',
  ]
  static override args = passArgs
  static override flags = { ...passFlags, ...listFlags }

  async run() {
    const { args, flags } = await this.parse(NotificationList)
    const client = this.connect(flags)
    const params = { id: await getPassId(client, { id: args.id, external: flags.external }) }
    const list = (call: object) => client.notifications.list({ params, ...call })
    return this.showList({
      pages: listPages<Notification, object>(list, {}, flags),
      shape,
      flags,
      noun: ['notification', 'notifications'],
      empty: 'Next: passes notify',
    })
  }
}
