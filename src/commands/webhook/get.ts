import { ClientCommand } from '../../cli/command/client-command.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'

export default class WebhookGet extends ClientCommand {
  static override summary = 'Show a webhook.'
  static override description = 'Needs a token of an owner. One that the server disabled says why.'
  static override examples = [
    '<%= config.bin %> webhook get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = webhookArgs

  async run() {
    const { args, flags } = await this.parse(WebhookGet)
    const webhook = await this.connect(flags).webhooks.get({ params: { id: args.id } })
    this.log(showWebhook(webhook))
    return webhook
  }
}
