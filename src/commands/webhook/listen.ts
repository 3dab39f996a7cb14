import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { UsageError } from '../../cli/command/errors.ts'
import { onInterrupt } from '../../cli/command/interrupt.ts'
import { printable } from '../../cli/command/output.ts'
import { eventFlag } from '../../cli/webhook/flags.ts'
import { type ListenEvent, listenForEvents } from '../../cli/webhook/listen.ts'
import { subscribableEvents } from '../../core/events.ts'

export default class WebhookListen extends ClientCommand {
  static override summary = 'Receive events on this machine while you develop, and pass them on to your application.'
  static override description =
    'Registers a webhook, verifies and shows each event as it comes, passes the raw bytes and headers on, and removes ' +
    'the webhook when it ends: with Ctrl-C, or after --seconds. The server must run with --allow-insecure-webhooks and ' +
    'reach this machine. With --json one event a line: {"event": "listening" | "delivery" | "problem", …}.'
  static override examples = [
    '<%= config.bin %> webhook listen --forward-to http://localhost:8080/hooks/passes',
    '<%= config.bin %> webhook listen --event pass.scanned --seconds 60 --json',
  ]
  static override flags = {
    'forward-to': Flags.string({ summary: 'Address of your application; its answer goes back to the server.' }),
    event: eventFlag('Event to receive. Repeatable; all when left out.'),
    seconds: Flags.integer({ summary: 'End after that many seconds.', min: 1 }),
  }

  async run() {
    const { flags } = await this.parse(WebhookListen)
    const stop = new AbortController()
    const timer = flags.seconds && setTimeout(() => stop.abort(), flags.seconds * 1000)
    const release = onInterrupt(() => {
      process.exitCode = 130
      stop.abort()
    })
    const end = () => stop.abort()
    process.once('SIGTERM', end)
    try {
      await listenForEvents(this.connect(flags), {
        events: flags.event ?? [...subscribableEvents],
        forwardTo: checkAddress(flags['forward-to']),
        signal: stop.signal,
        onEvent: (event) => (this.jsonEnabled() ? printJson(event) : this.#show(event)),
      })
    } finally {
      clearTimeout(timer)
      release()
      process.off('SIGTERM', end)
    }
  }

  #show(event: ListenEvent): void {
    if (event.event === 'delivery') this.log(lineOf(event))
    else if (event.event === 'problem') this.note(`Problem: ${printable(event.message)}`)
    else {
      this.note(`Listening as webhook ${event.webhookId}; Ctrl-C ends it and removes the webhook.`)
      this.note(`Signing secret, until then: ${event.secret}`)
    }
  }
}

function checkAddress(address: string | undefined): string | undefined {
  if (address === undefined || (URL.canParse(address) && /^https?:/i.test(address))) return address
  throw new UsageError(`--forward-to ${address} is no http address`, {
    hint: 'write it like http://localhost:8080/hooks/passes.',
  })
}

/** Time, event, delivery, subject, and what the application answered. */
function lineOf({ payload, responseCode, durationMs, error }: Extract<ListenEvent, { event: 'delivery' }>): string {
  const subject = String(payload.data.id ?? payload.data.webhookId ?? '')
  const parts = [payload.timestamp, payload.type.padEnd(12), payload.id, subject]
  if (durationMs !== null) parts.push(`-> ${responseCode ?? printable(error ?? 'no answer')} (${durationMs} ms)`)
  return parts.join('  ')
}

function printJson(event: ListenEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`)
}
