import { Flags } from '@oclif/core'
import { subscribableEvents } from '../../core/events.ts'
import { TOLERANCE_SECONDS, verify } from '../../core/rules/crypto/signature.ts'
import { idArg, namedArg } from '../arguments/named.ts'
import { CliError, readNamed, UsageError } from '../command/cli-error.ts'
import { duration, localTime } from '../command/output.ts'
import { readStdinBytes } from '../command/prompt.ts'
import {
  callCommand,
  DELIVERY,
  listCommand,
  localCommand,
  type ResourceCommands,
  PROJECT as WEBHOOK,
} from '../command/resource-command.ts'
import { webhookSecret } from '../settings/settings.ts'
import { reportAttempt, showWebhook, webhooksShape } from '../webhook/delivery-output.ts'
import { eventFlag } from '../webhook/listen.ts'

const args = { id: namedArg('webhook') }

const descriptionFlag = Flags.string({ summary: 'Description, up to 255 characters.' })

export const commands: ResourceCommands = {
  'webhook:get': callCommand({
    summary: 'Show a webhook.',
    description: 'Needs a token of an owner. If the server disabled the webhook, the output shows the reason.',
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
      'The server sends events of the workspace to the address as signed POST requests. The address must be https and ' +
      'public, except on a server with --allow-insecure-webhooks.',
    examples: [
      'webhook create --to https://tickets.example.com/hooks/passes',
      'webhook create --to https://tickets.example.com/hooks/scans --event pass.scanned --json',
    ],
    flags: {
      to: Flags.string({ summary: 'Address that receives events.', required: true }),
      event: eventFlag('Type of the events to send (default: all). Repeatable.'),
      description: descriptionFlag,
    },
    call: ({ webhooks }, { flags: { to: url, event: events = [...subscribableEvents], description } }) =>
      webhooks.create({ body: { url, events, description } }),
    print: showWebhook,
    note: ({ id }) =>
      `Keep the secret now: it is not shown again. To send a test event, run "passes webhook test ${id}".`,
  }),
  'webhook:update': callCommand({
    summary: 'Update a webhook.',
    description: 'Omitted fields keep their values. The values of --event replace all previous ones.',
    examples: [
      `webhook update ${WEBHOOK} --to https://new.example.com/hooks`,
      `webhook update ${WEBHOOK} --event pass.issued --event pass.voided`,
    ],
    args,
    flags: {
      to: Flags.string({ summary: 'Address that receives events.', atLeastOne: ['to', 'event', 'description'] }),
      event: eventFlag('Type of the events to send. Repeatable.'),
      description: descriptionFlag,
    },
    call: ({ webhooks }, { args: { id }, flags: { to: url, event: events, description } }) =>
      webhooks.update({ params: { id }, body: { url, events, description } }),
    print: showWebhook,
  }),
  'webhook:enable': callCommand({
    summary: 'Enable a webhook.',
    description: 'Events that happened while the webhook was disabled are not sent.',
    examples: [`webhook enable ${WEBHOOK}`, `webhook enable ${WEBHOOK} --json`],
    args,
    call: ({ webhooks }, { args: { id } }) => webhooks.enable({ params: { id } }),
    print: showWebhook,
  }),
  'webhook:disable': callCommand({
    summary: 'Disable a webhook.',
    description: 'The webhook receives nothing until it is enabled again. Pending deliveries end as FAILED.',
    examples: [`webhook disable ${WEBHOOK}`, `webhook disable ${WEBHOOK} --json`],
    args,
    call: ({ webhooks }, { args: { id } }) => webhooks.disable({ params: { id } }),
    print: showWebhook,
  }),
  'webhook:delete': callCommand({
    summary: 'Delete a webhook.',
    description: 'Pending deliveries are not sent.',
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
    description: 'The server signs deliveries with both secrets for 24 hours, and after that only with the new secret.',
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
      'Sends a webhook.test event, signed like any other event. Exits with 1 unless the endpoint returned 2xx.',
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
      'Sends the same body with the same ID and a new signature, regardless of earlier results. Exits with 1 unless the ' +
      'endpoint returned 2xx.',
    examples: [`webhook redeliver ${DELIVERY}`, `webhook redeliver ${DELIVERY} --json`],
    args: { id: idArg('delivery') },
    async call(client, { args: { id }, log }) {
      const { attemptCount } = await client.deliveries.get({ params: { id } })
      const queued = await client.deliveries.redeliver({ params: { id } })
      return reportAttempt(log, client, { ...queued, attemptCount })
    },
  }),
  'webhook:verify': localCommand({
    summary: 'Check the signature of a delivery, and explain why it is invalid.',
    description:
      'Needs no server, and sends nothing. Exits with 0 for a valid signature, and with 1 for an invalid one. Set the ' +
      'secret as PASSES_WEBHOOK_SECRET to keep it out of the process list.',
    examples: [
      {
        description: 'Check a body that was saved to a file',
        command: "webhook verify --payload body.json --signature 't=1767225600,v1=5f0c…' --at 1767225610",
      },
      {
        description: 'Check a body from a pipe, with the secret as a flag',
        command:
          "curl -s https://example.com/last-body | <%= config.bin %> webhook verify --secret whsec_… --signature 't=1767225600,v1=5f0c…'",
      },
    ],
    flags: {
      secret: Flags.string({ summary: 'Signing secret of the webhook, including whsec_ (PASSES_WEBHOOK_SECRET).' }),
      signature: Flags.string({ summary: 'Value of the header X-Service-Signature.', required: true }),
      payload: Flags.string({ summary: 'File with the unchanged body, or - for stdin.', default: '-' }),
      tolerance: Flags.integer({
        summary: 'Maximum difference between the time of the signature and the time of the check, in seconds.',
        default: TOLERANCE_SECONDS,
        min: 0,
      }),
      at: Flags.integer({ summary: 'Time at which the signature is checked, in Unix seconds (default: now).', min: 0 }),
    },
    async run({ flags }) {
      const secret = webhookSecret(flags.secret)
      if (secret === undefined) {
        throw new UsageError('No secret was given', { hint: 'give it in PASSES_WEBHOOK_SECRET or with --secret.' })
      }
      const body = flags.payload === '-' ? await readStdinBytes() : await readNamed(flags.payload)
      const at = flags.at === undefined ? new Date() : new Date(flags.at * 1000)
      const checked = verify(body, flags.signature, secret, { at, toleranceSeconds: flags.tolerance })
      if (!checked.ok) {
        throw new CliError(checked.message, { code: checked.reason.toUpperCase(), hint: checked.hint })
      }
      return { signedAt: checked.signedAt, age: (at.getTime() - checked.signedAt.getTime()) / 1000 }
    },
    value: ({ signedAt }) => ({ valid: true, signedAt: signedAt.toISOString() }),
    print: ({ signedAt, age }) =>
      `The signature is valid. It was made at ${localTime(signedAt)}, ${duration(Math.abs(age))} ${age < 0 ? 'ahead' : 'ago'}.`,
  }),
}
