import { Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'
import { idArg, namedArg } from '../arguments/id-argument.ts'
import { reportAttempt, showWebhook, webhooksShape } from '../webhook/delivery-output.ts'
import { eventFlag } from '../webhook/flags.ts'
import { callCommand, DELIVERY, listCommand, type ResourceCommands, PROJECT as WEBHOOK } from './resource-command.ts'

const args = { id: namedArg('webhook') }

const descriptionFlag = Flags.string({ summary: 'Description, up to 255 characters.' })

export const commands: ResourceCommands = {
  'webhook:get': callCommand({
    summary: 'Show a webhook.',
    description: 'Needs a token of an owner. If the server disabled it, the output shows why.',
    examples: [`webhook get ${WEBHOOK}`, `webhook get ${WEBHOOK} --json`],
    args,
    call: ({ webhooks }, { args: { id } }) => webhooks.get({ params: { id } }),
    print: showWebhook,
  }),
  'webhook:list': listCommand({
    summary: 'List webhooks, newest first.',
    description: 'Needs a token of an owner.',
    examples: ['webhook list', 'webhook list --all --json'],
    list: ({ webhooks }) => webhooks.list,
    shape: webhooksShape,
    noun: ['webhook', 'webhooks'],
    empty: 'Next: passes webhook create --to URL',
  }),
  'webhook:create': callCommand({
    summary: 'Create a webhook and show its signing secret once.',
    description:
      'The server sends events of the workspace to the address as signed POST requests. Without --event it sends all events. The ' +
      'address must be https and public, except on a server with --allow-insecure-webhooks.',
    examples: [
      'webhook create --to https://tickets.example.com/hooks/passes',
      'webhook create --to https://tickets.example.com/hooks/scans --event pass.scanned --json',
    ],
    flags: {
      to: Flags.string({ summary: 'Address that receives events.', required: true }),
      event: eventFlag('Event to send. Repeatable (default: all).'),
      description: descriptionFlag,
    },
    call: ({ webhooks }, { flags: { to: url, event: events = [...subscribableEvents], description } }) =>
      webhooks.create({ body: { url, events, description } }),
    print: showWebhook,
    note: ({ id }) => `Keep the secret now: it is not shown again. passes webhook test ${id} sends a test event.`,
  }),
  'webhook:update': callCommand({
    summary: 'Update a webhook.',
    description: 'Omitted fields keep their values. The given events replace the previous ones.',
    examples: [
      `webhook update ${WEBHOOK} --to https://new.example.com/hooks`,
      `webhook update ${WEBHOOK} --event pass.issued --event pass.voided`,
    ],
    args,
    flags: {
      to: Flags.string({ summary: 'Address that receives events.', atLeastOne: ['to', 'event', 'description'] }),
      event: eventFlag('Event to send. Repeatable.'),
      description: descriptionFlag,
    },
    call: ({ webhooks }, { args: { id }, flags: { to: url, event: events, description } }) =>
      webhooks.update({ params: { id }, body: { url, events, description } }),
    print: showWebhook,
  }),
  'webhook:enable': callCommand({
    summary: 'Enable a webhook.',
    description: 'Events that happened while it was disabled are not sent.',
    examples: [`webhook enable ${WEBHOOK}`, `webhook enable ${WEBHOOK} --json`],
    args,
    call: ({ webhooks }, { args: { id } }) => webhooks.enable({ params: { id } }),
    print: showWebhook,
  }),
  'webhook:disable': callCommand({
    summary: 'Disable a webhook.',
    description: 'It receives nothing until it is enabled again. Pending deliveries end as FAILED.',
    examples: [`webhook disable ${WEBHOOK}`, `webhook disable ${WEBHOOK} --json`],
    args,
    call: ({ webhooks }, { args: { id } }) => webhooks.disable({ params: { id } }),
    print: showWebhook,
  }),
  'webhook:delete': callCommand({
    summary: 'Delete a webhook.',
    description: 'Pending deliveries are not sent. Asks for confirmation; scripts add --yes.',
    examples: [`webhook delete ${WEBHOOK}`, `webhook delete ${WEBHOOK} --yes --json`],
    args,
    asks: true,
    async call({ webhooks }, { args: { id }, ask }) {
      await ask(`Delete webhook ${id}?`)
      await webhooks.delete({ params: { id } })
      return { id, deleted: true }
    },
    print: ({ id }) => `Webhook ${id} is deleted.`,
  }),
  'webhook:rotate-secret': callCommand({
    summary: 'Create a new signing secret and show it once.',
    description:
      'The server signs deliveries with both secrets for 24 hours, and then with the new one only. Asks for confirmation; scripts ' +
      'add --yes.',
    examples: [`webhook rotate-secret ${WEBHOOK}`, `webhook rotate-secret ${WEBHOOK} --yes --json`],
    args,
    asks: true,
    async call({ webhooks }, { args: { id }, ask }) {
      await ask(`Replace the secret of webhook ${id}?`)
      return webhooks.rotateSecret({ params: { id } })
    },
    print: showWebhook,
    note: () => 'Keep the secret now: it is not shown again. The previous secret still signs for 24 hours.',
  }),
  'webhook:test': callCommand({
    summary: 'Send a test event, and show the result.',
    description:
      'Sends a signed webhook.test event like any other event. Exits with 1 unless the endpoint returned 2xx.',
    examples: [`webhook test ${WEBHOOK}`, `webhook test ${WEBHOOK} --json`],
    args,
    async call(client, { args: { id }, log }) {
      const queued = await client.webhooks.test({ params: { id } })
      return reportAttempt(log, client, { ...queued, attemptCount: 0 })
    },
  }),
  'webhook:redeliver': callCommand({
    summary: 'Send a delivery again, and show the result.',
    description:
      'Sends the same bytes with the same ID and a fresh signature, regardless of earlier results. Exits with 1 unless ' +
      'the endpoint returned 2xx.',
    examples: [`webhook redeliver ${DELIVERY}`, `webhook redeliver ${DELIVERY} --json`],
    args: { id: idArg('delivery') },
    async call(client, { args: { id }, log }) {
      const { attemptCount } = await client.deliveries.get({ params: { id } })
      const queued = await client.deliveries.redeliver({ params: { id } })
      return reportAttempt(log, client, { ...queued, attemptCount })
    },
  }),
}
