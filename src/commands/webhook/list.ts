import { listFlags, listPage, moreHint } from '../../cli/arguments/list.ts'
import { terminalWidth } from '../../cli/command/base-command.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { table } from '../../cli/command/output.ts'
import { webhookColumns } from '../../cli/webhook/show.ts'

export default class WebhookList extends ClientCommand {
  static override summary = 'List webhooks, newest first.'
  static override description = 'Needs a token of an owner. One that the server disabled says why.'
  static override examples = ['<%= config.bin %> webhook list', '<%= config.bin %> webhook list --all --json']
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(WebhookList)
    const page = await listPage(this.connect(flags).webhooks.list, {}, flags)
    this.log(table(page.items, webhookColumns, { width: terminalWidth() }))
    const more = moreHint(page)
    if (more) this.note(more)
    return page
  }
}
