import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { webhookArgs } from '../../cli/webhook/flags.ts'

export default class WebhookDelete extends ClientCommand {
  static override summary = 'Delete a webhook.'
  static override description =
    'Nothing more is sent to it, what waits for another attempt included. Asks first; elsewhere give --yes.'
  static override examples = [
    '<%= config.bin %> webhook delete 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> webhook delete 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --yes --json',
  ]
  static override args = webhookArgs
  static override flags = { yes: Flags.boolean({ summary: 'Do it without asking.' }) }

  async run() {
    const { args, flags } = await this.parse(WebhookDelete)
    const client = this.connect(flags)
    await confirm(`Delete webhook ${args.id}?`, { yes: flags.yes, noInput: flags['no-input'] })
    await client.webhooks.delete({ params: { id: args.id } })
    this.log(`Webhook ${args.id} is deleted.`)
    return { id: args.id, deleted: true }
  }
}
