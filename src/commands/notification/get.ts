import { getPassId, passFlags } from '../../cli/arguments/pass-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'
import { notificationArgs, showNotification } from '../../cli/notify/show.ts'

export default class NotificationGet extends ClientCommand {
  static override summary = 'Show how far a notification has come.'
  static override examples = [
    '<%= config.bin %> notification get T-1 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77 --external',
    '<%= config.bin %> notification get 0198c7a3-1b02-7d44-a1c8-5e9f0b7d6c33 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77 --json',
  ]
  static override args = notificationArgs
  static override flags = passFlags

  async run() {
    const { args, flags } = await this.parse(NotificationGet)
    const client = this.connect(flags)
    const id = await getPassId(client, { id: args.id, external: flags.external })
    const notification = await client.notifications.get({ params: { id, notificationId: args.notification } })
    this.log(showNotification(notification))
    return notification
  }
}
