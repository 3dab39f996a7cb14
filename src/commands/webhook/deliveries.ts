import { Args, Flags } from '@oclif/core'
import { filterFlag, followFlag, listFlags, repeatable } from '../../cli/arguments/list-flags.ts'
import { idOf, named } from '../../cli/arguments/named.ts'
import { CliError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { deliveriesShape, showDelivery } from '../../cli/webhook/delivery-output.ts'
import { ApiError } from '../../client/client-errors.ts'
import { DeliveryStatus } from '../../core/contract/webhooks/deliveries.ts'
import { eventTypes } from '../../core/events.ts'

export default class WebhookDeliveries extends ClientCommand {
  static override summary = 'List deliveries, newest first, or show one with its attempts and payload.'
  static override description =
    'Different filters must all match; repeated values of one filter are alternatives. This command does not need a ' +
    'token of an owner.'
  static override examples = [
    { description: 'List failing deliveries', command: '<%= config.bin %> webhook deliveries --failing' },
    {
      description: 'List scan events of one webhook, for a script',
      command:
        '<%= config.bin %> webhook deliveries --webhook 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --event pass.scanned --json',
    },
    { description: 'Follow new deliveries', command: '<%= config.bin %> webhook deliveries --follow' },
    {
      description: 'Show one delivery with its attempts and payload',
      command: '<%= config.bin %> webhook deliveries 0198c7a5-2b6e-7f0a-8c1d-94e3f5a6b7c8',
    },
  ]
  static override args = {
    id: Args.string({ description: 'ID of the delivery to show (default: a list).', parse: idOf('delivery') }),
  }
  static override flags = {
    webhook: named('webhook', filterFlag('Only deliveries to this webhook.')),
    event: Flags.option({ options: eventTypes, ...repeatable })({
      summary: 'Only deliveries of this event type. Repeatable.',
    }),
    status: Flags.option({ options: DeliveryStatus.options, ...repeatable })({
      summary: 'Only deliveries with this status. Repeatable.',
    }),
    failing: Flags.boolean({
      summary: 'Only deliveries whose last attempt failed, whether or not another attempt is due.',
    }),
    ...listFlags,
    follow: followFlag,
  }

  async run() {
    const { args, flags } = await this.parse(WebhookDeliveries)
    const { deliveries } = this.connect(flags)
    if (args.id) {
      const delivery = await deliveries
        .get({ params: { id: args.id } })
        .catch((error) => explainMissing(error, args.id!))
      this.log(showDelivery(delivery, { withPayload: true }))
      return delivery
    }
    const query = {
      webhookId: flags.webhook,
      eventType: flags.event,
      status: flags.status,
      lastAttempt: flags.failing ? ('failed' as const) : undefined,
    }
    return this.showPages({
      list: deliveries.list,
      writtenAt: ({ updatedAt }) => updatedAt,
      shape: deliveriesShape,
      flags,
      streamsJson: flags.follow,
      noun: ['delivery', 'deliveries'],
      empty:
        'Each event creates a delivery for each subscribed webhook. To send a test event, run "passes webhook test".',
      query,
    })
  }
}

/** Adds to a 404 the hint that the ID could be that of a webhook. @throws CliError, or the original error */
function explainMissing(error: unknown, id: string): never {
  if (!(error instanceof ApiError && error.status === 404)) throw error
  throw new CliError(`Delivery not found: ${id}`, {
    code: error.code,
    details: error.details,
    hint: `if it is the ID of a webhook, list its deliveries: passes webhook deliveries --webhook ${id}`,
  })
}
