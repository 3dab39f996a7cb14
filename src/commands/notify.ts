import { getPassId, passArgs, passFlags } from '../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../cli/command/client-command.ts'
import { messageBody, messageFlags } from '../cli/notify/message-flags.ts'
import { showNotification } from '../cli/notify/notification-output.ts'

export default class Notify extends ClientCommand {
  static override summary = 'Send a notification to the phones that hold a pass, now or later.'
  static override description =
    'Apple shows the text on the lock screen and on the back of the pass; Google shows it as a push and among its ' +
    'messages. Google accepts 3 per pass in 24 hours, including those that reach no one there (SKIPPED). For all ' +
    'passes of a project, use broadcast send.'
  static override examples = [
    '<%= config.bin %> notify 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 --message "Gate B12"',
    '<%= config.bin %> notify T-1 --external --message "Doors open at 7" --platform apple --at "in 2h" --json',
  ]
  static override args = passArgs
  static override flags = { ...passFlags, ...messageFlags }

  async run() {
    const { args, flags } = await this.parse(Notify)
    const body = messageBody(flags, new Date())
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    const notification = await client.notifications.create({ params: { id }, body }, { idempotent: true })
    this.log(showNotification(notification))
    return notification
  }
}
