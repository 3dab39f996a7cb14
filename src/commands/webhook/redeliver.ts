import { idArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { reportAttempt } from '../../cli/webhook/delivery-output.ts'

export default class WebhookRedeliver extends ClientCommand {
  static override summary = 'Send a delivery again, and show the result.'
  static override description =
    'Sends the same bytes with the same ID and a fresh signature, regardless of earlier results. Exits with 1 unless ' +
    'the endpoint returned 2xx.'
  static override examples = [
    '<%= config.bin %> webhook redeliver 0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8',
    '<%= config.bin %> webhook redeliver 0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8 --json',
  ]
  static override args = { id: idArg('delivery') }

  async run() {
    const { args, flags } = await this.parse(WebhookRedeliver)
    const client = this.connect(flags)
    const { attemptCount } = await client.deliveries.get({ params: { id: args.id } })
    const queued = await client.deliveries.redeliver({ params: { id: args.id } })
    return reportAttempt(this, client, { ...queued, attemptCount })
  }
}
