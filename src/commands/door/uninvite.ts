import { idArg } from '../../cli/arguments/id-argument.ts'
import { ClientCommand } from '../../cli/command/client-command.ts'

export default class DoorUninvite extends ClientCommand {
  static override summary = 'End an invitation: nobody claims a door with it any more.'
  static override description =
    'Doors that were claimed with it stay; door revoke ends them. Needs a token of an owner.'
  static override examples = [
    '<%= config.bin %> door uninvite 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10',
    '<%= config.bin %> door uninvite 0198c7a2-6f10-7c3e-9d55-0c1f5a3b2e10 --json',
  ]
  static override args = { id: idArg('door invitation') }

  async run() {
    const { args, flags } = await this.parse(DoorUninvite)
    await this.connect(flags).doors.endInvitation({ params: { id: args.id } })
    this.log(`Invitation ${args.id} is ended.`)
    return { id: args.id, ended: true }
  }
}
