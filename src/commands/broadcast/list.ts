import { listFlags, listPage, moreHint } from '../../cli/arguments/list.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count, table } from '../../cli/command/output.ts'
import { projectArg } from '../../cli/notify/broadcast-argument.ts'
import type { Broadcast } from '../../core/contract/broadcasts.ts'

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
    const page = await listPage<Broadcast, object>((call) => client.broadcasts.list({ params, ...call }), {}, flags)
    this.log(
      table(
        page.items,
        [
          { title: 'id', value: (broadcast) => broadcast.id, whole: true },
          { title: 'status', value: (broadcast) => broadcast.status, whole: true },
          { title: 'passes', value: ({ passCount }) => (passCount === null ? '' : count(passCount)), whole: true },
          { title: 'send at', value: (broadcast) => broadcast.sendAt ?? broadcast.createdAt, whole: true },
          { title: 'message', value: (broadcast) => broadcast.body },
        ],
        { width: terminalWidth() },
      ),
    )
    const more = moreHint(page)
    if (more) this.note(more)
    return page
  }
}
