import { Flags } from '@oclif/core'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { count } from '../../cli/command/output.ts'
import { confirm } from '../../cli/command/prompt.ts'
import { messageBody, messageFlags } from '../../cli/notify/message-flags.ts'
import {
  atGooglePace,
  projectArg,
  showBroadcast,
  showForecast,
  watchBroadcast,
} from '../../cli/notify/notification-output.ts'
import { type Broadcast, type BroadcastForecast, GoogleVia } from '../../core/contract/broadcasts.ts'

export default class BroadcastSend extends ClientCommand {
  static override summary = 'Notify every issued pass of a project, now or later.'
  static override description =
    'Reaches passes that are issued at the time of sending. Shows their number, and asks for confirmation; without a ' +
    'terminal, --yes is required. --dry-run shows the recipients and sends nothing. --watch waits until each ' +
    'notification has arrived or failed.'
  static override examples = [
    '<%= config.bin %> broadcast send 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --message "Doors open at 7" --dry-run',
    '<%= config.bin %> broadcast send 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --message "Doors open at 7" --watch --yes',
    '<%= config.bin %> broadcast send 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --message "See you" --at "in 2h" --yes --json',
    '<%= config.bin %> broadcast send 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --message "Doors open at 7" --google-via class --dry-run',
  ]
  static override args = projectArg
  static override flags = {
    ...messageFlags,
    'google-via': Flags.option({
      summary: 'How to send to Google: one message per pass, or one per class, which all of its holders get.',
      description:
        'A class needs one request for any number of holders. Holders of void and expired passes also receive the ' +
        'message, and people who add a pass later see it on the back.',
      options: GoogleVia.options,
      default: 'object' as const,
    })(),
    'dry-run': Flags.boolean({ summary: 'Show the recipients, and send nothing.', exclusive: ['watch'] }),
    watch: Flags.boolean({ summary: 'Show the progress until it is done.' }),
    yes: Flags.boolean({ summary: 'Skip the confirmation.' }),
  }

  async run() {
    const { args, flags } = await this.parse(BroadcastSend)
    const body = { ...messageBody(flags, new Date()), googleVia: flags['google-via'] }
    const client = this.connect(flags)
    const params = { id: args.project }
    if (flags['dry-run'] || !flags.yes) {
      const { idempotencyKey: _, ...rehearsed } = body
      const forecast = await client.broadcasts.create({ params, query: { dryRun: true }, body: rehearsed })
      if (!('dryRun' in forecast)) throw new Error('The server sent what was to be a rehearsal')
      if (flags['dry-run']) return this.#show(forecast)
      const { passCount, google } = forecast
      const atGoogle = google.passCount > 1 ? ` (google: ${count(google.passCount)}${atGooglePace(google)})` : ''
      await confirm(`Notify ${count(passCount)} passes?${atGoogle}`, { yes: false, noInput: flags['no-input'] })
    }
    const broadcast = (await client.broadcasts.create({ params, body }, { idempotent: true })) as Broadcast
    if (!flags.watch) {
      this.log(showBroadcast(broadcast))
      return broadcast
    }
    const stats = await watchBroadcast(client, broadcast)
    const done = await client.broadcasts.get({ params: { ...params, broadcastId: broadcast.id } })
    this.log(showBroadcast(done, stats))
    return { ...done, stats }
  }

  #show(forecast: BroadcastForecast): BroadcastForecast {
    this.log(showForecast(forecast))
    return forecast
  }
}
