import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { eventFlag } from '../../cli/webhook/flags.ts'
import { showWebhook } from '../../cli/webhook/show.ts'
import { subscribableEvents } from '../../core/events.ts'

export default class WebhookCreate extends ClientCommand {
  static override summary = 'Create a webhook and show its signing secret, once.'
  static override description =
    'Events of the workspace go to the address as signed POSTs from now on. Without --event it gets all. The address is ' +
    'https and public; a server with --allow-insecure-webhooks takes others, for development.'
  static override examples = [
    '<%= config.bin %> webhook create --to https://tickets.example.com/hooks/passes',
    '<%= config.bin %> webhook create --to https://tickets.example.com/hooks/scans --event pass.scanned --json',
  ]
  static override flags = {
    to: Flags.string({ summary: 'Address that events are sent to.', required: true }),
    event: eventFlag('Event to send. Repeatable; all when left out.'),
    description: Flags.string({ summary: 'What it is for, up to 255 characters.' }),
  }

  async run() {
    const { flags } = await this.parse(WebhookCreate)
    const { to: url, event: events = [...subscribableEvents], description } = flags
    const webhook = await this.connect(flags).webhooks.create({ body: { url, events, description } })
    this.log(showWebhook(webhook))
    this.note(`Keep the secret now: it is not shown again. passes webhook test ${webhook.id} sends a test event.`)
    return webhook
  }
}
