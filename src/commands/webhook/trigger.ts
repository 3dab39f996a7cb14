import { randomUUID } from 'node:crypto'
import { Args, Flags } from '@oclif/core'
import { optionalNamedArg } from '../../cli/arguments/named.ts'
import { CliError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { listenersFolder, profileInUse } from '../../cli/settings/settings.ts'
import { reportAttempt } from '../../cli/webhook/delivery-output.ts'
import { applicationAddress, type Forwarded, findListeners, forward, listenSecret } from '../../cli/webhook/listen.ts'
import type { EventType } from '../../core/contract/webhooks/event-data.ts'
import { eventFacts, eventTypes } from '../../core/events.ts'
import { newId } from '../../core/ids.ts'
import { envelopeText } from '../../core/rules/sending/retries.ts'

export default class WebhookTrigger extends ClientCommand {
  static override summary = 'Send an example of an event to a webhook, or to your application on this machine.'
  static override description =
    'With a webhook, the server sends the signed event to that webhook only. Without a webhook, this machine sends ' +
    'the event to --forward-to, or to every running "passes webhook listen" of the profile. It signs the event with ' +
    'the secret that "passes webhook listen --print-secret" prints. The IDs in an example belong to no real objects. ' +
    'Exits with 1 unless the response was 2xx.'
  static override examples = [
    '<%= config.bin %> webhook trigger pass.issued',
    '<%= config.bin %> webhook trigger pass.scanned --forward-to http://localhost:8080/hooks/passes',
    {
      description: 'Let the server send an event to a webhook',
      command: '<%= config.bin %> webhook trigger pass.voided https://tickets.example.com/hooks',
    },
  ]
  static override args = {
    type: Args.string({ description: 'Type of the event.', required: true, options: [...eventTypes] }),
    webhook: optionalNamedArg('webhook'),
  }
  static override flags = {
    'forward-to': Flags.string({ summary: 'Address of your application, which receives the event.' }),
  }

  async run() {
    const { args, flags } = await this.parse(WebhookTrigger)
    const type = eventTypes.find((one) => one === args.type)!
    if (args.webhook !== undefined) {
      const client = this.connect(flags)
      const queued = await client.webhooks.test({ params: { id: args.webhook }, body: { type } })
      return reportAttempt((text) => this.log(text), client, { ...queued, attemptCount: 0 })
    }
    const to = applicationAddress(flags['forward-to'])
    const profile = profileInUse(flags.profile)
    const target = to === undefined ? { folder: listenersFolder(profile.name) } : { to }
    const sent = await triggerHere(type, { secret: await listenSecret(profile), ...target })
    for (const { url, responseCode, error } of sent) this.log(`${type} -> ${url}  ${responseCode ?? error}`)
    requireTaken(sent)
    return { type, sent }
  }
}

function requireTaken(sent: Triggered[]): void {
  if (sent.length === 0) {
    throw new CliError('No listener runs on this machine', {
      code: 'NO_LISTENER',
      hint: 'start "passes webhook listen" in another terminal, or name a webhook or --forward-to.',
    })
  }
  const failed = sent.find(({ responseCode }) => responseCode === null || responseCode >= 300)
  if (!failed) return
  const { url, responseCode, error } = failed
  throw new CliError(`${url} did not accept the event: ${error ?? `it returned ${responseCode}`}`, {
    code: 'DELIVERY_FAILED',
    hint: 'check the log of your application.',
    details: { sent },
  })
}

type Triggered = Forwarded & { url: string }

async function triggerHere(
  type: EventType,
  target: { secret: string } & ({ to: string } | { folder: string }),
): Promise<Triggered[]> {
  const at = new Date()
  const data = eventFacts[type].example(at)
  const head = { id: newId(at), type, timestamp: at.toISOString(), correlationId: randomUUID() }
  const text = envelopeText(head, JSON.stringify(data))
  if ('to' in target) return [{ url: target.to, ...(await forward(text, target.to, target.secret)) }]
  const urls = findListeners(target.folder)
  return Promise.all(urls.map(async (url) => ({ url, ...(await forward(text, url, target.secret)) })))
}
