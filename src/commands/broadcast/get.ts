import { ClientCommand } from '../../cli/command/client-command.ts'
import { broadcastArgs, showBroadcast } from '../../cli/notify/show.ts'

export default class BroadcastGet extends ClientCommand {
  static override summary = 'Show a broadcast, and how its notifications stand.'
  static override examples = [
    '<%= config.bin %> broadcast get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77',
    '<%= config.bin %> broadcast get 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 0198c7a9-0d10-7f02-8c11-6a5d3f1b9e77 --json',
  ]
  static override args = broadcastArgs

  async run() {
    const { args, flags } = await this.parse(BroadcastGet)
    const { broadcasts } = this.connect(flags)
    const named = { params: { id: args.project, broadcastId: args.broadcast } }
    const [broadcast, stats] = await Promise.all([broadcasts.get(named), broadcasts.stats(named)])
    this.log(showBroadcast(broadcast, stats))
    return { ...broadcast, stats }
  }
}
