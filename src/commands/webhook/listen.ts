import { Flags } from '@oclif/core'
import { jsonLines } from '../../cli/arguments/list-flags.ts'
import { UsageError } from '../../cli/command/cli-error.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { printable } from '../../cli/command/output.ts'
import { untilStopped } from '../../cli/command/program.ts'
import { listenersFolder, profileInUse } from '../../cli/settings/settings.ts'
import {
  applicationAddress,
  eventFlag,
  type ListenEvent,
  listenForEvents,
  listenSecret,
} from '../../cli/webhook/listen.ts'
import { Uuid } from '../../core/ids.ts'
import { NIL_UUID } from '../../core/uuid.ts'

/** The position before the oldest stored event: the nil ID sorts before the ID of every event. */
const OLDEST = NIL_UUID

export default class WebhookListen extends ClientCommand {
  static override summary = 'Receive events on this machine during development, and forward them to your application.'
  static override description =
    'This machine opens the connection, so it needs no public address. The server stores nothing about the listener. ' +
    'Each event is sent to --forward-to, with a signature like that of a webhook. The signing secret belongs to the ' +
    'profile, and does not change. Ends with Ctrl-C, or after --seconds. With --json, prints one event per line: ' +
    '{"event": "listening" | "delivery" | "problem", …}.'
  static override examples = [
    '<%= config.bin %> webhook listen --forward-to http://localhost:8080/hooks/passes',
    '<%= config.bin %> webhook listen --event pass.scanned,pass.voided --seconds 60 --json',
    {
      description: 'Repeat all events after an earlier one',
      command: '<%= config.bin %> webhook listen --since 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    },
    {
      description: 'Print the secret for your application, without listening',
      command: '<%= config.bin %> webhook listen --print-secret',
    },
  ]
  static override flags = {
    'forward-to': Flags.string({ summary: 'Address of your application, which receives the events.' }),
    event: eventFlag('Type of the events to receive (default: all). Repeatable, or separated by commas.'),
    since: Flags.string({
      summary: 'ID of the event after which to start, or "oldest" for all stored events (default: only new events).',
    }),
    seconds: Flags.integer({ summary: 'Seconds after which the command ends (default: only Ctrl-C ends it).', min: 1 }),
    'print-secret': Flags.boolean({
      summary: 'Print the signing secret of the profile, without listening.',
      exclusive: ['forward-to', 'event', 'since', 'seconds'],
    }),
  }

  async run() {
    const { flags } = await this.parse(WebhookListen)
    const profile = profileInUse(flags.profile)
    const secret = await listenSecret(profile)
    if (flags['print-secret']) {
      this.log(secret)
      return { secret }
    }
    return untilStopped(
      (signal) =>
        listenForEvents(this.connect(flags), {
          events: flags.event,
          since: sinceOf(flags.since),
          forwardTo: applicationAddress(flags['forward-to']),
          secret,
          folder: listenersFolder(profile.name),
          signal,
          onEvent: (event) => this.#show(event),
        }),
      { seconds: flags.seconds, bySigterm: true },
    )
  }

  #show(event: ListenEvent): void {
    if (this.jsonEnabled()) process.stdout.write(jsonLines([event]))
    else if (event.event === 'delivery') this.log(lineOf(event))
    else if (event.event === 'problem') this.note(`Problem: ${printable(event.message)}`)
    else {
      this.note(`Listening for events of ${this.connection?.url.value}. Press Ctrl-C to stop.`)
      this.note(`Signing secret: ${event.secret}`)
    }
  }
}

function sinceOf(text: string | undefined): string | undefined {
  if (text === undefined || Uuid.safeParse(text).success) return text
  if (text === 'oldest') return OLDEST
  throw new UsageError(`--since ${text} is not the ID of an event`, {
    hint: '"passes webhook listen" shows the ID of each event; "--since oldest" starts with the oldest stored event.',
  })
}

function lineOf({ payload, responseCode, durationMs, error }: Extract<ListenEvent, { event: 'delivery' }>): string {
  const subject = String(payload.data.id ?? payload.data.webhookId ?? '')
  const parts = [payload.timestamp, payload.type.padEnd(12), payload.id, subject]
  if (durationMs !== null) parts.push(`-> ${responseCode ?? printable(error ?? 'no response')} (${durationMs} ms)`)
  return parts.join('  ')
}
