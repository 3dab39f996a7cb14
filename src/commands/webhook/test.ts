import { ClientCommand } from '../../cli/command/client-command.ts'
import { reportAttempt } from '../../cli/webhook/delivery-output.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'

export default class WebhookTest extends ClientCommand {
  static override summary = 'Send a test event, and show the result.'
  static override description =
    'Sends a signed webhook.test event like any other event. Exits with 1 unless the endpoint returned 2xx.'
  static override examples = [
    '<%= config.bin %> webhook test 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook test 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = webhookArgs

  async run() {
    const { args, flags } = await this.parse(WebhookTest)
    const client = this.connect(flags)
    const queued = await client.webhooks.test({ params: { id: args.id } })
    return reportAttempt(this, client, { ...queued, attemptCount: 0 })
  }
}
