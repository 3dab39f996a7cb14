import { listFlags, listPage, moreHint } from '../../cli/arguments/list.ts'
import { getPassId, passArgs, passFlags } from '../../cli/arguments/pass-argument.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'
import type { Notification } from '../../core/contract/notifications.ts'

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
    const page = await listPage<Notification, object>(list, {}, flags)
    this.log(
      table(
        page.items,
        [
          { title: 'id', value: ({ id }) => id, whole: true },
          { title: 'status', value: ({ status }) => status, whole: true },
          { title: 'send at', value: ({ sendAt, createdAt }) => sendAt ?? createdAt, whole: true },
          { title: 'message', value: ({ body }) => body },
        ],
        { width: terminalWidth() },
      ),
    )
    const more = moreHint(page)
    if (more) this.note(more)
    return page
  }
}
