import { ClientCommand } from '../../cli/command/client-command.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'

export default class WebhookEnable extends ClientCommand {
  static override summary = 'Enable a webhook.'
  static override description = 'Events of the time that it was disabled are not sent later.'
  static override examples = [
    '<%= config.bin %> webhook enable 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook enable 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = webhookArgs

  async run() {
    const { args, flags } = await this.parse(WebhookEnable)
    const webhook = await this.connect(flags).webhooks.enable({ params: { id: args.id } })
    this.log(showWebhook(webhook))
    return webhook
  }
}
