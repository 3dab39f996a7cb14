import { ClientCommand } from '../../cli/command/client-command.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'

export default class WebhookDisable extends ClientCommand {
  static override summary = 'Disable a webhook.'
  static override description = 'It gets nothing until it is enabled again; deliveries that wait end as FAILED.'
  static override examples = [
    '<%= config.bin %> webhook disable 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook disable 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = webhookArgs

  async run() {
    const { args, flags } = await this.parse(WebhookDisable)
    const webhook = await this.connect(flags).webhooks.disable({ params: { id: args.id } })
    this.log(showWebhook(webhook))
    return webhook
  }
}
