import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'

export default class WebhookRotateSecret extends ClientCommand {
  static override summary = 'Make a new signing secret and show it, once.'
  static override description =
    'Deliveries are signed with both secrets for 24 hours, so receivers can change over in between; then with the new ' +
    'one alone. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> webhook rotate-secret 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook rotate-secret 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --yes --json',
  ]
  static override args = webhookArgs
  static override flags = { yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(WebhookRotateSecret)
    const client = this.connect(flags)
    await confirm(`Make a new secret for webhook ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    const webhook = await client.webhooks.rotateSecret({ params: { id: args.id } })
    this.log(showWebhook(webhook))
    this.note('Keep the secret now: it is not shown again. The one before it still signs, too, for 24 hours.')
    return webhook
  }
}
