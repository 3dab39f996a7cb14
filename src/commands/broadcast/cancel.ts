import { ClientCommand } from '../../cli/command/client-command.ts'
import { broadcastArgs } from '../../cli/notify/show.ts'

export default class BroadcastCancel extends ClientCommand {
  static override summary = 'Cancel a broadcast that is still scheduled.'
  static override examples = [
    '<%= config.bin %> broadcast cancel 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77',
    '<%= config.bin %> broadcast cancel 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77 --json',
  ]
  static override args = broadcastArgs

  async run() {
    const { args, flags } = await this.parse(BroadcastCancel)
    const client = this.connect(flags)
    await client.broadcasts.cancel({ params: { id: args.project, broadcastId: args.broadcast } })
    this.log(`Broadcast ${args.broadcast} is cancelled: nothing is sent.`)
    return { id: args.broadcast, cancelled: true }
  }
}
