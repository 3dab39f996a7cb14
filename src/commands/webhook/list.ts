import { listFlags, listPages } from '../../cli/arguments/list.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { webhooksShape } from '../../cli/webhook/show.ts'

export default class WebhookList extends ClientCommand {
  static override summary = 'List webhooks, newest first.'
  static override description = 'Needs a token of an owner. One that the server disabled says why.'
  static override examples = ['<%= config.bin %> webhook list', '<%= config.bin %> webhook list --all --json']
  static override flags = listFlags

  async run() {
    const { flags } = await this.parse(WebhookList)
    return this.showList({
      pages: listPages(this.connect(flags).webhooks.list, {}, flags),
      shape: webhooksShape,
      flags,
      noun: ['webhook', 'webhooks'],
      empty: 'Next: passes webhook create --to URL',
    })
  }
}
