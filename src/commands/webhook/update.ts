import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { eventFlag, webhookArgs } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'

export default class WebhookUpdate extends ClientCommand {
  static override summary = 'Change a webhook.'
  static override description = 'What is not given stays as it is; the events that are given replace those before.'
  static override examples = [
    '<%= config.bin %> webhook update 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --to https://new.example.com/hooks',
    '<%= config.bin %> webhook update 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --event pass.issued --event pass.voided',
  ]
  static override args = webhookArgs
  static override flags = {
    to: Flags.string({ summary: 'New address.', atLeastOne: ['to', 'event', 'description'] }),
    event: eventFlag('Event to send. Repeatable.'),
    description: Flags.string({ summary: 'New description.' }),
  }

  async run() {
    const { args, flags } = await this.parse(WebhookUpdate)
    const { to: url, event: events, description } = flags
    const webhook = await this.connect(flags).webhooks.update({
      params: { id: args.id },
      body: { url, events, description },
    })
    this.log(showWebhook(webhook))
    return webhook
  }
}
